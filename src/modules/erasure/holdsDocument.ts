import { documentIdsOf, workspaceOfStream } from '../../domain/events/streamNames.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { currentHolding } from './currentHolding.ts';

/** Whether a legal hold protects the document of a stream. Rejects with `unreadable` and `unavailable`. */
export async function holdsDocument(eventLog: EventLog, stream: string): Promise<boolean> {
  const encounter = { kind: 'encounter', id: documentIdsOf(stream).encounterId };
  return (await currentHolding(eventLog, workspaceOfStream(stream), encounter, async () => [])) !== undefined;
}
