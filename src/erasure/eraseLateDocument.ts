import type { RecordedEvent } from '../events/event.ts';
import { erasureStep } from '../events/recordErased.ts';
import { encounterOfDocument } from '../events/streamNames.ts';
import { type ErasurePorts, eraseDocument } from './finishErasure.ts';

/**
 * Erases the document of an upload that was let in before the erasure of its encounter and appended behind it, and says whether it is such
 * a one. Can be repeated. Rejects with `unavailable`, and with `unreadable`.
 */
export async function eraseLateDocument(ports: ErasurePorts, upload: RecordedEvent): Promise<boolean> {
  const encounter = encounterOfDocument(upload.stream);
  const [last] = await ports.eventLog.readStream(encounter, { direction: 'backwards', limit: 1 });
  const isLate = last !== undefined && erasureStep(last) === 'done' && last.position < upload.position;
  if (isLate) await eraseDocument(ports, last, upload.stream);
  return isLate;
}
