import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, RecordedEvent } from '../../domain/events/event.ts';
import { kindOfStream } from '../../domain/events/streams.ts';
import { upcast } from '../../domain/events/upcasting.ts';
import { catalog, catalogEntry } from '../../domain/records/catalog.ts';
import { asUnreadable, UnreadableError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { rules } from './rules/index.ts';

/** The fields that rules read, by kind; of a nested one the field that holds it. */
const inputs = new Map(
  catalog.map(({ kind }) => {
    const paths = rules.flatMap(({ reads }) => reads).map((path) => path.split('.'));
    return [kind, new Set(paths.flatMap(([of, field]) => (of === kind && field ? [field] : [])))];
  }),
);

/** Whether a rule reads a field of a kind, or a part of it. */
export function isInput(kind: string, field: string): boolean {
  return inputs.get(kind)?.has(field) ?? false;
}

/** How many events before a change are searched for the values that it replaced: most senders send all fields each time. */
const LOOK_BACK = 8;

/**
 * Whether consecutive events of a record may have changed a field that rules read. True also where the values before them are
 * not among the last events, and where the record was erased or cannot be read. Rejects with `unavailable`.
 */
export async function changesInputs(eventLog: EventLog, events: readonly RecordedEvent[]): Promise<boolean> {
  const found = await findChange(eventLog, events).catch(asUnreadable);
  return found instanceof UnreadableError || found;
}

async function findChange(eventLog: EventLog, events: readonly RecordedEvent[]): Promise<boolean> {
  const [{ stream, revision }] = events as [RecordedEvent];
  const kind = kindOfStream(stream);
  const isUpsert = ({ type }: RecordedEvent) => type === catalogEntry(kind).eventType;
  if (revision === 0 || !events.every(isUpsert)) return true;
  const sent = events.map((event) => inputsOf(kind, event));
  const wanted = new Set(sent.flatMap((fields) => Object.keys(fields)));
  if (wanted.size === 0) return false;
  const range = { direction: 'backwards', from: revision - 1, limit: LOOK_BACK } as const;
  const before: JsonObject = {};
  for (const event of await eventLog.readStream(stream, range)) {
    if (Object.keys(before).length === wanted.size || !isUpsert(event)) break;
    for (const [field, value] of Object.entries(inputsOf(kind, event))) {
      if (wanted.has(field) && !Object.hasOwn(before, field)) before[field] = value;
    }
  }
  return sent.some((fields) =>
    Object.entries(fields).some(
      ([field, value]) => !Object.hasOwn(before, field) || !isDeepStrictEqual(before[field], value),
    ),
  );
}

/** Returns what an event sends of what rules read. Throws an `UnreadableError`. */
function inputsOf(kind: string, event: RecordedEvent): JsonObject {
  return Object.fromEntries(Object.entries(upcast(event).data).filter(([field]) => isInput(kind, field)));
}
