import { INSTALLATION } from '../../domain/events/streamNames.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { type DocumentProblem, verifyDocuments } from '../../modules/integrity/verifyDocuments.ts';
import {
  type RowDifference,
  type VerifiedModel,
  verifyReadModels,
} from '../../modules/integrity/verifyReadModels.ts';
import { verifyWorklist } from '../../modules/integrity/verifyWorklist.ts';
import { mismatchTexts } from '../../modules/projections/logMismatch.ts';
import { terminal } from '../../server/terminal.ts';
import {
  withDocumentStore,
  withKeys,
  withLogToVerify,
  withReadModels,
  withTemporaryModels,
} from '../../server/withStores.ts';
import { createLogProgress } from '../lib/logProgress.ts';
import { count, counted, fail, writeLine } from '../lib/output.ts';
import { untilInterrupted } from '../lib/untilInterrupted.ts';

/** The exit code of a verification that had nothing to compare with. */
export const NOTHING_COMPARED = 3;

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

/**
 * Compares the stored rows of the read models with what the log yields: those of a workspace, or all. Lists the first row of each read
 * model that differs: the command then fails.
 */
export async function verifyStoredRecords(workspace: string | undefined): Promise<void> {
  await untilInterrupted((signal) =>
    withLogToVerify(workspace ?? INSTALLATION, async ({ eventLog, caller }) => {
      if (workspace === undefined) await recordAccess(eventLog, caller, { action: 'verify' });
      const bar = createLogProgress(terminal().stderr.isTTY === true);
      const verified = await withReadModels(async (readModels) => {
        const found = await withTemporaryModels((folded) =>
          verifyReadModels({ eventLog, readModels, folded }, { workspace, onProgress: bar.at, signal }),
        );
        // The worklist is evaluated from the records.
        if (found.some(({ difference }) => difference)) return found;
        const workspaces = workspace === undefined ? await everyWorkspace() : [workspace];
        return [...found, await verifyWorklist({ eventLog, readModels }, workspaces, signal)];
      }).finally(() => bar.stop());
      reportRows(verified);
    }),
  );
}

function everyWorkspace(): Promise<string[]> {
  return withKeys(async ({ known }) => [...known.workspaces.keys()]);
}

function reportRows(verified: VerifiedModel[]): void {
  const problems = verified.flatMap((model) => problemOf(model) ?? []);
  for (const problem of problems) fail(problem);
  if (problems.length > 0) return;
  const sum = (what: 'rows' | 'unwritten') => verified.reduce((all, one) => all + one[what], 0);
  if (sum('rows') === 0) {
    fail('Nothing was compared: the read models have no rows yet.');
    terminal().exitCode = NOTHING_COMPARED;
    return;
  }
  const unwritten = sum('unwritten');
  const more = unwritten > 0 ? `; ${count(unwritten)} not written yet, and not compared` : '';
  writeLine(
    `${counted(sum('rows'), 'row')} of ${count(verified.length)} read models compared with the log${more}`,
  );
}

function problemOf({
  projection,
  model,
  difference,
  mismatch,
  unreadable,
}: VerifiedModel): string | undefined {
  if (mismatch) return `${model} was not compared: ${mismatchTexts[mismatch]} by the next start.`;
  if (unreadable !== undefined)
    return `${model} was not compared: the event at position ${unreadable} cannot be read any more. To find out why, run: chartledger verify --workspace ID`;
  if (difference === undefined) return undefined;
  const { what, partition, position } = difference;
  const place = `partition ${partition}, position ${position}`;
  return `${model}: ${differenceTexts[what]}: ${place}. To restore what the log says, run: chartledger projections rebuild ${projection}`;
}

const differenceTexts: Record<RowDifference['what'], string> = {
  changed: 'a row is not what the log says',
  outdated: 'a row lacks an event',
  missing: 'a row is missing',
  added: 'a row comes from no event',
};
