import { catalog } from '../../records/catalog.ts';
import { ImportTally } from './ImportTally.ts';
import type { ImportSource, SourceRecord } from './importSource.ts';
import type { Progress } from './progress.ts';
import type { RecordSender } from './RecordSender.ts';
import type { RejectLine, ReportFile, WarningLine } from './ReportFile.ts';

export interface ImportJob {
  source: ImportSource;
  sender: RecordSender;
  rejects: ReportFile<RejectLine>;
  warnings: ReportFile<WarningLine>;
  progress: Progress;
  /** Records sent at once. */
  concurrency: number;
  /** Aborted, with the reason, by what makes going on senseless; the caller may abort it too. */
  stop: AbortController;
}

/**
 * Sends all records of a source. A kind begins when those that it refers to are done (the catalog's order); records
 * of one id are sent one after the other, in the order of the input. Resolves with what was counted, also when it
 * was stopped; then `job.stop` says why. Rejects with `ImportError` when the source cannot be surveyed.
 */
export async function runImport(job: ImportJob): Promise<ImportTally> {
  const tally = new ImportTally();
  const totals = await job.source.survey(({ source, error }) => {
    job.rejects.write({ kind: null, source, id: null, status: null, error });
    tally.unreadable();
  }, job.stop.signal);
  job.progress.start([...totals.values()].reduce((sum, count) => sum + count, 0));
  for (const { kind, plural } of catalog) {
    if (!totals.has(kind) || job.stop.signal.aborted) continue;
    job.progress.kind(plural);
    await sendKind(job, tally, kind, plural);
  }
  job.progress.stop();
  return tally;
}

/** So many workers as records may be sent at once, all drawing from one stream of records. */
async function sendKind(job: ImportJob, tally: ImportTally, kind: string, plural: string): Promise<void> {
  const records = job.source.records(kind);
  const lastOfId = new Map<unknown, Promise<void>>();
  const work = async () => {
    try {
      for await (const item of records) {
        if (job.stop.signal.aborted) return;
        const { id } = item.record;
        const turn = sendInTurn(job, tally, plural, item, lastOfId.get(id));
        lastOfId.set(id, turn);
        await turn;
        if (lastOfId.get(id) === turn) lastOfId.delete(id);
      }
    } catch (error) {
      job.stop.abort(error);
    }
  };
  await Promise.all(Array.from({ length: job.concurrency }, work));
}

async function sendInTurn(
  job: ImportJob,
  tally: ImportTally,
  plural: string,
  { kind, source, record, warnings = [] }: SourceRecord,
  before: Promise<void> | undefined,
): Promise<void> {
  await before;
  const result = await job.sender.send(plural, record);
  const id = record.id ?? null;
  if (!result.accepted) {
    const { status, error, details } = result;
    job.rejects.write({ kind, source, id, status, error, ...(details !== undefined && { details }) });
    tally.add(kind, result);
  } else {
    const all = [...warnings, ...result.warnings];
    if (all.length > 0) job.warnings.write({ kind, source, id, warnings: all });
    tally.add(kind, { ...result, warnings: all });
  }
  job.progress.advance();
}
