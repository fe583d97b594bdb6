import { setImmediate as nextTurn } from 'node:timers/promises';
import { eventLeaf } from '../../domain/eventLeaf.ts';
import { dataAs, type RecordedEvent } from '../../domain/events/event.ts';
import {
  type EarlierErasure,
  type ErasedVersion,
  erasureStep,
  type RecordErased,
  writtenOf,
} from '../../domain/events/recordErased.ts';
import { upcast } from '../../domain/events/upcast.ts';
import { catalog } from '../../domain/records/catalog.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { referredIds } from '../../domain/records/referredIds.ts';
import type { EventLog } from '../../storage/eventLog.ts';

const CHUNK = 200;

/** The present and past contents of a stream: what its tombstones have to list. */
export interface StreamToErase {
  /** Every version, in order, including those erased before. */
  erased: ErasedVersion[];
  /** The patients to which it ever referred, each with the first version known to have done so. */
  patients: Map<string, number>;
  earlier: EarlierErasure[];
  /** Its last event; undefined when there is none. */
  last: RecordedEvent | undefined;
}

/** Reads an entire stream, a chunk at a time. Rejects with `unreadable` and `unavailable`. */
export async function streamToErase(eventLog: EventLog, stream: string): Promise<StreamToErase> {
  const versions = new Map<number, ErasedVersion>();
  const patients = new Map<string, number>();
  const earlier: EarlierErasure[] = [];
  let tombstones: RecordedEvent[] = [];
  let last: RecordedEvent | undefined;
  for (let from = 0; ; from = (last?.revision ?? 0) + 1) {
    const events = await eventLog.readStream(stream, { from, limit: CHUNK });
    for (const event of events) {
      const { id, revision, position } = event;
      const version = revision + 1;
      for (const one of patientsOf(event)) if (!patients.has(one)) patients.set(one, version);
      const written = writtenOf(event);
      versions.set(version, { version, position, event_id: id, leaf: eventLeaf(event), written });
      const step = erasureStep(event);
      tombstones = step === undefined || event.data.part === 1 ? [] : tombstones;
      if (step) tombstones.push(event);
      if (step === 'done') {
        const parts = tombstones.map(({ data }) => dataAs<RecordErased>(data));
        for (const one of parts.flatMap(({ erased }) => erased)) versions.set(one.version, one);
        earlier.push(...(parts[0]?.earlier ?? []), earlierErasure(tombstones));
      }
      last = event;
    }
    if (events.length < CHUNK) break;
    await nextTurn();
  }
  const erased = [...versions.values()].sort((a, b) => a.version - b.version);
  return { erased, patients, earlier, last };
}

/** Returns the patients to which an event refers; for a tombstone, those to which the erased versions did. */
function patientsOf(event: RecordedEvent): string[] {
  const entry = catalog.find(({ eventType }) => eventType === event.type);
  if (entry) return referredIds(entry, upcast(event).data, patient.kind);
  return erasureStep(event) ? (dataAs<RecordErased>(event.data).patient_ids ?? []) : [];
}

function earlierErasure(tombstones: RecordedEvent[]): EarlierErasure {
  const [first] = tombstones as [RecordedEvent];
  const { erasure_id, reason } = dataAs<RecordErased>(first.data);
  const versions = tombstones.reduce(
    (count, { data }) => count + dataAs<RecordErased>(data).erased.length,
    0,
  );
  const { principal } = first.metadata;
  return { erasure_id, reason, erased_at: first.recordedAt, principal, versions };
}
