import type { Operation } from '../operation.ts';
import { voided } from './encounter.ts';
import type { MappingContext } from './MappingContext.ts';
import { Told, unlessCleared } from './Told.ts';

/** Says that the visit of a message does not take place: as of EVN-2, or MSH-7. */
export function cancelledVisit(
  context: MappingContext,
  ids: { id: string; patient_id: string },
  reason: Told | undefined,
): Operation[] {
  const { message } = context;
  const since =
    unlessCleared(context.moment(message.first('EVN'), 2)) ??
    unlessCleared(context.moment(message.header, 7));
  if (!since) {
    context.refuse('101', message.header.at(7), 'Send the time when the message was created.');
    return [];
  }
  const usual = new Told(`Cancelled (${message.event})`, { at: message.eventPlace });
  const fields = { voided_at: since, void_reason: unlessCleared(reason) ?? usual };
  return [voided(context, ids, fields)];
}
