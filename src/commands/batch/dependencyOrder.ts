import { isJsonObject } from '../../events/event.ts';
import { catalog } from '../../records/catalog.ts';
import type { BatchLine } from './batchLine.ts';
import type { WorkSlices } from './WorkSlices.ts';

/** How many steps away from a kind that refers to nothing; by kind. */
const steps = new Map<string, number>();
for (const { kind, references } of catalog) {
  steps.set(kind, Math.max(0, ...references.map((reference) => 1 + (steps.get(reference.kind) as number))));
}

/**
 * The lines in steps: a line's references are all in earlier steps, and within a step lines keep their order, so that those of
 * one record do. Lines of which no kind can be told are in the first.
 */
export async function dependencyOrder(
  lines: Iterable<BatchLine>,
  slices: WorkSlices,
): Promise<BatchLine[][]> {
  const ordered: BatchLine[][] = Array.from({ length: Math.max(...steps.values()) + 1 }, () => []);
  for (const line of lines) {
    if (slices.isOver) await slices.next();
    const step = steps.get(line.seemingKind ?? kindRead(line) ?? '') ?? 0;
    ordered[step]?.push(line);
  }
  return ordered;
}

function kindRead(line: BatchLine): string | undefined {
  try {
    const value = line.read();
    return isJsonObject(value) && typeof value.kind === 'string' ? value.kind : undefined;
  } catch {
    // Whoever carries it out is told.
    return undefined;
  }
}
