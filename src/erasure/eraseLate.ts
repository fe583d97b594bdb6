import type { RecordedEvent } from '../events/event.ts';
import { erasureStep } from '../events/recordErased.ts';
import { encounterBeside, kindOfStream } from '../events/streamNames.ts';
import { type ErasurePorts, eraseDocument, eraseReadiness } from './finishErasure.ts';

/**
 * Erases what was let in before the erasure of its encounter and appended behind it, a document or what became of the encounter in billing,
 * and says whether the event is such a one. Can be repeated. Rejects with `unavailable`, and with `unreadable`.
 */
export async function eraseLate(ports: ErasurePorts, event: RecordedEvent): Promise<boolean> {
  const { stream, position } = event;
  const encounter = encounterBeside(stream);
  const [last] = await ports.eventLog.readStream(encounter, { direction: 'backwards', limit: 1 });
  const isLate = last !== undefined && erasureStep(last) === 'done' && last.position < position;
  if (isLate) {
    await (kindOfStream(stream) === 'document'
      ? eraseDocument(ports, last, stream)
      : eraseReadiness(ports, last));
  }
  return isLate;
}
