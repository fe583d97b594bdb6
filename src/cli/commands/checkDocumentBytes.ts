import type { Position } from '../../domain/events/event.ts';
import { uploadedBy } from '../../domain/records/document.ts';
import { each } from '../../modules/backup/backupObjects.ts';
import { readLog } from '../../modules/integrity/readLog.ts';
import { isCurrent } from '../../modules/integrity/verifyDocuments.ts';
import type { Config } from '../../platform/config.ts';
import { isMissing, openDocumentStore } from '../../server/openBackend.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { count } from '../lib/output.ts';
import { type CheckResult, failed, ok } from './checkResult.ts';
import { using } from './checkStores.ts';

/** Maximum number of positions listed; the rest are only counted. */
const MOST_NAMED = 10;

/** Checks whether the document store has the bytes of every document named in the log; they are not read. */
export async function checkDocumentBytes(
  eventLog: EventLog,
  { documentsUrl }: Config,
): Promise<CheckResult[]> {
  if (isMissing(documentsUrl)) return [];
  const missing: Position[] = [];
  let documents = 0;
  await using(openDocumentStore(documentsUrl), async (store) => {
    for await (const { events } of readLog(eventLog, { after: 0, until: await eventLog.head() })) {
      const uploads = events.filter(({ type }) => type === 'DocumentUploaded');
      await each(uploads, async (event) => {
        const isThere = await store.has(uploadedBy(event).object_id);
        documents += isThere ? 1 : 0;
        if (!isThere && (await isCurrent(eventLog, event))) missing.push(event.position);
      });
    }
  });
  if (missing.length === 0) return [ok('documents', `all ${count(documents)} named in the log are present`)];
  const named = missing
    .sort((a, b) => a - b)
    .slice(0, MOST_NAMED)
    .join(', ');
  const message =
    `Files of documents named in the log are missing: ${count(missing.length)}. Their events are at positions ${named}` +
    `${missing.length > MOST_NAMED ? ' and others' : ''}. Restore them from a backup that is newer than the log's, or have them sent again.`;
  return [failed('documents', 'missing', message)];
}
