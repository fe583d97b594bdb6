import type { ValidLine } from './ValidLine.ts';

/** Number of records checked concurrently. */
const AT_ONCE = 64;

/** Runs a function for each line, many concurrently, but lines of the same record one after the other, in order. */
export async function eachStream(
  lines: readonly ValidLine[],
  work: (line: ValidLine) => Promise<void>,
): Promise<void> {
  const streams = Map.groupBy(lines, ({ stream }) => stream).values();
  const worker = async () => {
    for (const ofStream of streams) for (const line of ofStream) await work(line);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
