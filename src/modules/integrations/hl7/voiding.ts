import type { Origins } from '../operations.ts';
import { type MappingContext, Sourced, unlessCleared } from './context.ts';
import type { VisitFields } from './records.ts';

/**
 * Returns what voids a visit: as of EVN-2, or MSH-7, a message without which is refused. `what`: the usual reason, such
 * as `Cancelled`, to which the event is added.
 */
export function voidFields(
  context: MappingContext,
  what: string,
  reason?: Sourced,
): Required<Pick<VisitFields, 'voided_at' | 'void_reason'>> {
  const { message } = context;
  const since =
    unlessCleared(context.moment(message.first('EVN'), 2)) ??
    unlessCleared(context.moment(message.header, 7));
  if (!since) {
    const code = message.header.value(7) ? '102' : '101';
    context.refuse(
      code,
      message.header.at(7),
      'Send the time when the message was created, as YYYYMMDDHHMM.',
    );
  }
  const usual = new Sourced(`${what} (${message.event})`, { at: message.eventPlace });
  return { voided_at: since ?? null, void_reason: unlessCleared(reason) ?? usual };
}

/** Returns the same as values with their origins, for an operation that is not of one record. */
export function voidSaid(
  context: MappingContext,
  what: string,
): { fields: Record<string, unknown>; origins: Origins } {
  const said = Object.entries(voidFields(context, what));
  return {
    fields: Object.fromEntries(said.map(([name, one]) => [name, one?.value ?? null])),
    origins: Object.fromEntries(said.map(([name, one]) => [name, one?.origin ?? {}])),
  };
}
