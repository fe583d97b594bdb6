import { sendDocuments } from './documents/sendDocuments.ts';
import { type ImportJob, note } from './ImportJob.ts';
import { NothingTaken } from './importSource.ts';
import { sendRecords } from './sendRecords.ts';

/**
 * Sends all that is not sent yet, first records and then documents, and takes the state away when all was answered. When it was
 * stopped, `job.stop` says why, and the same import goes on from there. Rejects with `ImportError` when the input cannot be
 * surveyed.
 */
export async function runImport(job: ImportJob): Promise<void> {
  const { source, documents, state, progress, stop } = job;
  const totals = (await source?.survey(unreadable(job), stop.signal)) ?? new Map<string, number>();
  const files = (await documents?.list(unreadable(job))) ?? [];
  if (stop.signal.aborted) return;
  const { rows, documents: uploaded } = state.progress;
  progress.start(
    [...totals.values(), files.length].reduce((sum, count) => sum + count, 0),
    rows + uploaded,
  );
  try {
    // What could not be read is listed; from here on the key of what is sent first is known.
    if (!state.isResumed) note(job, {});
    if (source) await sendRecords(job, source, totals);
    await sendDocuments(job, files);
    state.remove();
  } catch (error) {
    if (!stop.signal.aborted) stop.abort(error);
    // Another key or address is another import.
    if (error instanceof NothingTaken && state.isUntouched) state.remove();
  } finally {
    progress.stop();
  }
}

/** Lists what holds no record, once. */
function unreadable({ state, rejects, tally }: ImportJob) {
  return ({ source, error }: { source: string; error: string }) => {
    if (state.isResumed) return;
    rejects.write({ kind: null, source, id: null, status: null, error });
    tally.unreadable();
  };
}
