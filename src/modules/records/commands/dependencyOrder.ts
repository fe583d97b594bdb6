import { isJsonObject, type JsonObject } from '../../../domain/events/event.ts';
import { catalog } from '../../../domain/records/catalog.ts';
import type { BatchLine } from './batchLine.ts';
import { type ReferringLine, referringOrder } from './referringOrder.ts';
import type { WorkSlices } from './WorkSlices.ts';

/** By kind: how many steps it is away from a kind that refers at most to itself. */
const steps = new Map<string, number>();
/** By kind: the fields in which a record refers to one of its own kind, if any. */
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
 * Returns the lines in steps: a line's references are all in earlier steps, and within a step lines keep their order, including
 * those of the same record. Lines of unknown kind are in the first step.
 */
export async function dependencyOrder(
  lines: Iterable<BatchLine>,
  slices: WorkSlices,
): Promise<BatchLine[][]> {
  const ordered = Array.from({ length: Math.max(...steps.values()) + 1 }, () => ({
    first: [] as BatchLine[],
    /** Lines of records that refer to others of their kind. */
    referring: [] as ReferringLine[],
  }));
  /** The ids of these records, by kind. */
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

/**
 * Returns a line whose record refers to others of its kind by one of these fields, in this line or an earlier one; a text that
 * does not contain the fields is not parsed.
 */
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
    // The error is reported when the line is carried out.
    return undefined;
  }
}
