import { isJsonObject, type JsonObject } from '../../events/event.ts';
import { catalog } from '../../records/catalog.ts';
import type { BatchLine } from './batchLine.ts';
import { type ReferringLine, referringOrder } from './referringOrder.ts';
import type { WorkSlices } from './WorkSlices.ts';

/** How many steps away from a kind that refers to nothing but its own; by kind. */
const steps = new Map<string, number>();
/** The fields in which a record refers to one of its own kind; by kind, where there are any. */
const ownReferences = new Map<string, readonly string[]>();
for (const { kind, references } of catalog) {
  const others = references.filter((reference) => reference.kind !== kind);
  steps.set(kind, Math.max(0, ...others.map((reference) => 1 + (steps.get(reference.kind) as number))));
  const own = references.filter((reference) => reference.kind === kind);
  if (own.length > 0)
    ownReferences.set(
      kind,
      own.map(({ path }) => path[0] as string),
    );
}

/**
 * The lines in steps: a line's references are all in earlier steps, and within a step lines keep their order, so that those of
 * one record do. Lines of which no kind can be told are in the first.
 */
export async function dependencyOrder(
  lines: Iterable<BatchLine>,
  slices: WorkSlices,
): Promise<BatchLine[][]> {
  const ordered = Array.from({ length: Math.max(...steps.values()) + 1 }, () => ({
    first: [] as BatchLine[],
    /** Those of records that refer to others of their kind. */
    referring: [] as ReferringLine[],
  }));
  /** The ids of these records, by their kind. */
  const referring = new Map([...ownReferences.keys()].map((kind) => [kind, new Set<string>()]));
  for (const line of lines) {
    if (slices.isOver) await slices.next();
    const kind = line.seemingKind ?? kindRead(line) ?? '';
    const step = ordered[steps.get(kind) ?? 0];
    const found = referringLine(line, ownReferences.get(kind), referring.get(kind));
    if (found) step?.referring.push(found);
    else step?.first.push(line);
  }
  return ordered.flatMap(({ first, referring: others }) => [first, ...referringOrder(others)]);
}

function kindRead(line: BatchLine): string | undefined {
  const value = valueIn(line);
  return isJsonObject(value) && typeof value.kind === 'string' ? value.kind : undefined;
}

/** A line of a record that refers to others of its kind by one of these fields, in this line or one before it; a text without them is not read. */
function referringLine(
  line: BatchLine,
  fields: readonly string[] = [],
  known: Set<string> = new Set(),
): ReferringLine | undefined {
  const { bytes } = line;
  if (fields.length === 0) return undefined;
  if (bytes && known.size === 0 && !fields.some((field) => bytes.includes(`"${field}"`))) return undefined;
  const value = valueIn(line);
  const record: JsonObject = isJsonObject(value) && isJsonObject(value.record) ? value.record : {};
  const { id } = record;
  const to = fields.map((field) => record[field]).filter((other) => typeof other === 'string');
  if (typeof id !== 'string' || (to.length === 0 && !known.has(id))) return undefined;
  known.add(id);
  return { line, id, to };
}

function valueIn(line: BatchLine): unknown {
  try {
    return line.read();
  } catch {
    // Whoever carries it out is told.
    return undefined;
  }
}
