import { type ImportJob, note } from './ImportJob.ts';
import { NothingTaken } from './importSource.ts';
import { sendDocuments } from './sendDocuments.ts';
import { sendRecords } from './sendRecords.ts';

/**
 * Sends everything that is not sent yet, first records and then documents, and removes the state once everything was answered. If
 * it was stopped, `job.stop` says why, and the same import can resume from there. Rejects with `ImportError` when the input
 * cannot be surveyed.
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
    // What could not be read is listed; from here on the key for the first request is known.
    if (!state.isResumed) note(job, {});
    if (source) await sendRecords(job, source, totals);
    await sendDocuments(job, files);
    state.remove();
  } catch (error) {
    if (!stop.signal.aborted) stop.abort(error);
    // A different key or address means a different import.
    if (error instanceof NothingTaken && state.isUntouched) state.remove();
  } finally {
    progress.stop();
  }
}

/** Lists what contains no record, once. */
function unreadable({ state, rejects, tally }: ImportJob) {
  return ({ source, error }: { source: string; error: string }) => {
    if (state.isResumed) return;
    rejects.write({ kind: null, source, id: null, status: null, error });
    tally.unreadable();
  };
}
