import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { uploadedBy } from '../../domain/records/document.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { DocumentStore } from '../../storage/documentStore.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { checkedContent, DocumentMismatch } from '../records/queries/checkedContent.ts';
import { readWorkspace } from './readWorkspace.ts';

/** A version of a document whose bytes do not match the log. */
export interface DocumentProblem {
  what: 'changed' | 'missing';
  position: Position;
  stream: string;
  version: number;
  objectId: string;
}

export interface VerifiedDocuments {
  /** Number of versions whose bytes are those that were uploaded. */
  verified: number;
  /** Number of versions that were replaced or removed, and whose bytes are no longer stored. */
  gone: number;
}

interface Options {
  onProblem(problem: DocumentProblem): void;
  /** Called with the position in the log, where it will end, and the number of versions processed. */
  onProgress?(position: Position, until: Position, versions: number): void;
}

/**
 * Reads the bytes of every version of every document of a workspace and compares them with their digests in the log. Rejects with
 * `unavailable` when a store is unreachable.
 */
export async function verifyDocuments(
  { eventLog, documentStore }: { eventLog: EventLog; documentStore: DocumentStore },
  workspace: string,
  { onProblem, onProgress }: Options,
): Promise<VerifiedDocuments> {
  const counts = { verified: 0, gone: 0 };
  let versions = 0;
  const until = await eventLog.head();
  for await (const { events, position } of readWorkspace(eventLog, workspace, { after: 0, until })) {
    for (const event of events) {
      if (event.type !== 'DocumentUploaded') continue;
      versions += 1;
      const found = await look(documentStore, event);
      if (found === 'verified') counts.verified += 1;
      else if (found === 'missing' && !(await isCurrent(eventLog, event))) counts.gone += 1;
      else onProblem({ what: found, ...placeOf(event) });
    }
    onProgress?.(position, until, versions);
  }
  return counts;
}

async function look(store: DocumentStore, event: RecordedEvent): Promise<'verified' | 'changed' | 'missing'> {
  const document = uploadedBy(event);
  try {
    const content = await store.get(document.object_id);
    for await (const _chunk of checkedContent(content, document));
    return 'verified';
  } catch (error) {
    if (error instanceof DocumentMismatch) return 'changed';
    if (error instanceof ServiceError && error.code === 'not_found') return 'missing';
    throw error;
  }
}

/** Whether a document was neither replaced nor removed since an upload. Rejects with `unavailable`, and with `unreadable`. */
export async function isCurrent(eventLog: EventLog, { stream, revision }: RecordedEvent): Promise<boolean> {
  const [last] = await eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
  return last?.revision === revision;
}

function placeOf(event: RecordedEvent): Omit<DocumentProblem, 'what'> {
  const { position, stream, revision } = event;
  return { position, stream, version: revision + 1, objectId: uploadedBy(event).object_id };
}
