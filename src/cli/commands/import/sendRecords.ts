import { chunks, oneAhead, type Row } from './chunks.ts';
import { type ImportJob, note, takeIn } from './ImportJob.ts';
import type { SendResult } from './ImportTally.ts';
import type { ImportSource } from './importSource.ts';
import type { OutcomeCounts, RowResult } from './RowSender.ts';

/**
 * Sends the records of a source, continuing from the import's progress. Rejects with `ImportError`, or an `AbortError` after
 * `stop`.
 */
export async function sendRecords(
  job: ImportJob,
  source: ImportSource,
  totals: ReadonlyMap<string, number>,
): Promise<void> {
  const lots = chunks(source, totals, job.state.progress.rows, (item) => job.batches.lineOf(item));
  for await (const rows of oneAhead(lots)) await sendChunk(job, rows);
}

/**
 * Sends the rows of a chunk until each is accepted or refused. Which of them are sent, and under which key, is saved first: if
 * the process is killed, there is no doubt, and the next one sends the same again.
 */
async function sendChunk(job: ImportJob, chunk: readonly Row[]): Promise<void> {
  const { state, client, batches } = job;
  let failures = 0;
  let unanswered = chunk.length;
  for (;;) {
    const { run, rows, round, left = [...chunk.keys()] } = state.progress;
    const sent = left.map((index) => ({ index, row: chunk[index] as Row }));
    const key = `import-${run}-${rows}-${round}`;
    const { results, counts, isRepeat } = await batches.send(
      sent.map(({ row }) => row),
      key,
    );
    const answered = sent.map((each, index) => ({ ...each, result: results[index] as RowResult }));
    const again = answered.filter(({ result }) => isToBeSentAgain(result, results));
    const isLimited = again.every(({ result }) => result.status === 429 || !result.retryable);
    // Only for a first try is it certain that what was refused was not written: anything else keeps its key.
    const isPart = isLimited && !isRepeat;
    failures = isPart || again.length < unanswered ? 0 : failures + 1;
    unanswered = again.length;
    const isGivenUp = failures === client.retries.attempts;
    if (isGivenUp && again.length === chunk.length) throw client.away(`status ${again[0]?.result.status}`);
    if (again.length === 0 || isGivenUp) {
      takeInRows(job, answered, counts);
      return note(job, { rows: rows + chunk.length, left: undefined, round: 0 });
    }
    if (isPart) {
      takeInRows(
        job,
        answered.filter((each) => !again.includes(each)),
        counts,
      );
      note(job, { left: again.map(({ index }) => index), round: round + 1 });
    }
    if (isLimited) await client.pause(Math.max(...again.map(({ result }) => result.retryAfter ?? 1)));
    else await client.delay(failures + 1, 'a store is unavailable');
  }
}

function takeInRows(
  job: ImportJob,
  answered: readonly { row: Row; result: RowResult }[],
  counts: OutcomeCounts | undefined,
): void {
  if (counts) job.tally.addOutcomes(counts);
  for (const { row, result } of answered) takeInRow(job, row, result);
  job.progress.advance(answered.length);
}

/** What a row refers to may be among those that are to be sent again. */
function isToBeSentAgain({ retryable, code }: RowResult, all: readonly RowResult[]): boolean {
  return retryable || (code === 'reference_not_found' && all.some((result) => result.retryable));
}

function takeInRow(job: ImportJob, { item }: Row, result: RowResult): void {
  const { kind, source, record, warnings = [] } = item;
  takeIn(job, { kind, source, id: record.id ?? null }, sendResult(result, warnings));
}

function sendResult(result: RowResult, remarks: RowResult['warnings']): SendResult {
  const { status, outcome = '', warnings, error, details, retryable } = result;
  if (status === 200) return { accepted: true, outcome, warnings: [...remarks, ...warnings] };
  const told = retryable ? `Given up after several attempts: ${error}` : error;
  return { accepted: false, status, error: told, ...(details !== undefined && { details }) };
}
