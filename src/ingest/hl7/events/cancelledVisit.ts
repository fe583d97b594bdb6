import type { Operation } from '../../operation.ts';
import type { MappingContext } from '../MappingContext.ts';
import type { Value } from '../message/Segment.ts';
import { voided } from '../records/encounter.ts';

/** That the visit of a message does not take place: since EVN-2, or MSH-7. */
export function cancelledVisit(
  context: MappingContext,
  ids: { id: string; patient_id: string },
  reason: Value,
): Operation[] {
  const { message } = context;
  const since = context.moment(message.first('EVN'), 2) ?? context.moment(message.header, 7);
  if (!since) {
    context.refuse('101', message.header.at(7), 'Send when the message was made.');
    return [];
  }
  const fields = { voided_at: since, void_reason: reason || `Cancelled (${message.event})` };
  return [voided(ids, fields)];
}
