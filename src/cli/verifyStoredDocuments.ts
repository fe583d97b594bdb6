import { terminal } from '../app/terminal.ts';
import { withDocumentStore, withLogToVerify } from '../app/withStores.ts';
import { type DocumentProblem, verifyDocuments } from '../evidence/verifyDocuments.ts';
import { createLogProgress } from './logProgress.ts';
import { count, fail, writeLine } from './output.ts';

/** Reads every stored document of a workspace, and lists each one that is not what was uploaded: the command then fails. */
export async function verifyStoredDocuments(workspace: string): Promise<void> {
  await withLogToVerify(workspace, ({ eventLog }) =>
    withDocumentStore(async (documentStore) => {
      const bar = createLogProgress(terminal().stderr.isTTY === true);
      const onProblem = (problem: DocumentProblem) => fail(describe(problem));
      const found = await verifyDocuments({ eventLog, documentStore }, workspace, {
        onProblem,
        onProgress: bar.at,
      }).finally(() => bar.stop());
      writeLine(`${count(found.verified)} document versions verified, ${count(found.gone)} no longer kept`);
    }),
  );
}

function describe({ what, position, stream, version, objectId }: DocumentProblem): string {
  const place = `stream ${stream}, version ${version}, position ${position}, object ${objectId}`;
  return what === 'changed'
    ? `A stored document is not the one that was uploaded: ${place}.`
    : `A document is no longer stored, although nothing replaced or removed it: ${place}.`;
}
