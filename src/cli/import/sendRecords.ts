import type { RowResult } from './BatchSender.ts';
import { chunks, oneAhead, type Row } from './chunks.ts';
import { type ImportJob, note, takeIn } from './ImportJob.ts';
import type { SendResult } from './ImportTally.ts';
import type { ImportSource } from './importSource.ts';

/** Sends the records of a source, from where the import had come. Rejects with `ImportError`, or an `AbortError` after `stop`. */
export async function sendRecords(
  job: ImportJob,
  source: ImportSource,
  totals: ReadonlyMap<string, number>,
): Promise<void> {
  for await (const rows of oneAhead(chunks(source, totals, job.state.progress.rows)))
    await sendChunk(job, rows);
}

/**
 * Sends the rows of a chunk until each is accepted or refused. Which of them are sent, and under which key, is noted before: a
 * process that is killed leaves no doubt, and the next one sends the same again.
 */
async function sendChunk(job: ImportJob, chunk: readonly Row[]): Promise<void> {
  const { state, client, batches } = job;
  for (let failures = 0; ; ) {
    const { run, rows, round, left = [...chunk.keys()] } = state.progress;
    const sent = left.map((index) => ({ index, row: chunk[index] as Row }));
    const results = await batches.send(
      sent.map(({ row }) => row),
      `import-${run}-${rows}-${round}`,
    );
    const answered = sent.map((each, index) => ({ ...each, result: results[index] as RowResult }));
    const again = answered.filter(({ result }) => isToBeSentAgain(result, results));
    const isLimited = again.every(({ result }) => result.status === 429 || !result.retryable);
    if (!isLimited) failures++;
    const isGivenUp = failures === client.retries.attempts;
    if (isGivenUp && again.length === chunk.length) throw client.away(`status ${again[0]?.result.status}`);
    const final = isGivenUp ? answered : answered.filter((each) => !again.includes(each));
    for (const { row, result } of final) takeInRow(job, row, result);
    job.progress.advance(final.length);
    if (final.length === answered.length)
      return note(job, { rows: rows + chunk.length, left: undefined, round: 0 });
    note(job, { left: again.map(({ index }) => index), round: round + 1 });
    const seconds = Math.max(...again.map(({ result }) => result.retryAfter ?? 1));
    if (isLimited) await client.pause(seconds);
    else
      await client.delay(failures, `status ${again.find(({ result }) => result.retryable)?.result.status}`);
  }
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
