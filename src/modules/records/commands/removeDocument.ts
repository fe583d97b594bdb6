import { type Caller, newEvent } from '../../../domain/events/newEvent.ts';
import { documentStream } from '../../../domain/events/streamNames.ts';
import type { DocumentRemoved } from '../../../domain/records/document.ts';
import { notFound } from '../../../platform/errors.ts';
import { appendBehind } from '../../../storage/appendBehind.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import { findEarlier } from '../../idempotency/findEarlier.ts';
import { requireDocument, type WriteCondition } from './writeCondition.ts';

/** Appends the removal of a document; rejects with `not_found` when the encounter has none with that id (spec 4.7). */
export async function removeDocument(
  eventLog: EventLog,
  caller: Caller,
  encounterId: string,
  documentId: string,
  condition: WriteCondition,
): Promise<void> {
  const stream = documentStream(caller.workspace, encounterId, documentId);
  if (await findEarlier(eventLog, stream, caller)) return;
  const data: DocumentRemoved = { encounter_id: encounterId, document_id: documentId };
  for (;;) {
    const [last] = await eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
    if (last?.type !== 'DocumentUploaded') throw notFound('Document');
    requireDocument(condition, last);
    // If someone uploaded or removed it in the meantime, decide again on the current state.
    if (await appendBehind(eventLog, stream, newEvent(caller, 'DocumentRemoved', { ...data }), last.revision))
      return;
  }
}
