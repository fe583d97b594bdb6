import { unavailable } from '../../../platform/errors.ts';
import type { RateLimiter } from '../../../storage/rateLimiters.ts';
import type { BatchContext } from './batchContext.ts';
import type { AnswerLine, BatchLine, LineSubject } from './batchLine.ts';
import { dependencyOrder } from './dependencyOrder.ts';
import { GroupWriter } from './GroupWriter.ts';
import { grantLines } from './grantLines.ts';
import { subjectOf } from './readOperation.ts';
import { WorkSlices } from './WorkSlices.ts';

/** Number of lines appended together: more would hardly be cheaper, and would delay single appends. */
const GROUP = 500;

/** What a batch runs with, besides its lines. */
export interface BatchRun extends Omit<BatchContext, 'slices'> {
  /** Counts a workspace's lines; undefined when they are not limited. */
  limiter: RateLimiter | undefined;
  /** Ends the batch early: the remaining lines fail with `unavailable`. */
  stopping: AbortSignal;
}

/**
 * Carries out the lines of a batch in any order: those that others refer to come first. The result of every line is reported
 * once, as `upsertRecord` would have returned it; when it is reported as accepted, its event is durable. A refused line does not
 * stop the others; once the store is unreachable the rest fail with `unavailable`.
 */
export async function runBatch(lines: readonly BatchLine[], run: BatchRun): Promise<void> {
  const slices = new WorkSlices();
  const writer = new GroupWriter({ ...run, slices });
  const stop = () => writer.stop(unavailable('service'));
  run.stopping.addEventListener('abort', stop);
  if (run.stopping.aborted) stop();
  try {
    const steps = await dependencyOrder(lines, slices);
    if (run.isRepeat) await keepUnstored(writer, steps);
    const wanted = steps.reduce((sum, { length }) => sum + length, 0);
    const granted = await grantLines(run.limiter, run.caller.workspace, wanted);
    let left = granted.count;
    for (const step of steps) {
      await writeStep(writer, step.slice(0, left));
      await refuse(step.slice(left), granted.refusal, run.answer, slices);
      left = Math.max(0, left - step.length);
    }
  } finally {
    run.stopping.removeEventListener('abort', stop);
  }
}

/** Leaves the lines that no earlier try of the batch has stored, from the last to the first; reports the results of the others. */
async function keepUnstored(writer: GroupWriter, steps: BatchLine[][]): Promise<void> {
  for (const [at, lines] of [...steps.entries()].reverse()) {
    const left: BatchLine[][] = [];
    for (let end = lines.length; end > 0; end -= GROUP)
      left.push(await writer.unstored(lines.slice(Math.max(0, end - GROUP), end)));
    steps[at] = left.reverse().flat();
  }
}

/** Carries out lines that do not refer to each other; the next group is checked while one is being written. */
async function writeStep(writer: GroupWriter, lines: readonly BatchLine[]): Promise<void> {
  let writing: Promise<void> | undefined;
  for (let at = 0; at < lines.length; at += GROUP) {
    const accepted = await writer.accept(lines.slice(at, at + GROUP));
    await writing;
    writing = writer.write(accepted);
    // It is awaited later, and may fail before that.
    writing.catch(() => undefined);
  }
  await writing;
}

/** Reports lines that are not carried out. */
async function refuse(
  lines: readonly BatchLine[],
  error: unknown,
  answer: AnswerLine,
  slices: WorkSlices,
): Promise<void> {
  for (const line of lines) {
    if (slices.isOver) await slices.next();
    answer(line, { ...subjectIn(line), error });
  }
}

function subjectIn(line: BatchLine): LineSubject {
  try {
    return subjectOf(line.read());
  } catch {
    return subjectOf(undefined);
  }
}
