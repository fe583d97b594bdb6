import type { ValidLine } from './ValidLine.ts';

/** Records that are asked about at once. */
const AT_ONCE = 64;

/** Does something with each line, many at once, but with those of one record one after the other, in their order. */
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
