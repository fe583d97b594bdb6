import { setImmediate as nextTurn } from 'node:timers/promises';
import { dataAs, type Position, type RecordedEvent } from '../../domain/events/event.ts';
import { erasureStep, type RecordErased } from '../../domain/events/recordErased.ts';
import { documentIdsOf, kindOfStream, recordIdOf } from '../../domain/events/streamNames.ts';
import type { EventLog } from '../../storage/eventLog.ts';

const CHUNK = 500;

/** The event with which everything before it in its stream was erased. */
type Erasure = Pick<RecordedEvent, 'position' | 'recordedAt'>;

/** A version of a record or document, or an event of an encounter's billing, and its place in the log. */
export interface SightedVersion {
  version: number;
  position: Position;
  /** Type of the event; undefined if it was erased and nothing records it. */
  type: string | undefined;
  /** What removed it from the log. */
  erasedBy?: Erasure;
}

/**
 * A record or document, or an encounter's billing (`readiness`), that people may have seen, and its versions, in order, including
 * erased ones.
 */
export interface SightedThing {
  kind: string;
  /** The caller's id of the record; for a document, that of its encounter. */
  id: string;
  documentId?: string;
  versions: SightedVersion[];
}

/**
 * Returns what a stream contains or contained; without versions when it does not exist. Rejects with `unreadable` and
 * `unavailable`.
 */
export async function sightedThing(eventLog: EventLog, stream: string): Promise<SightedThing> {
  const versions = new Map<number, SightedVersion>();
  for (let from = 0; ; ) {
    const events = await eventLog.readStream(stream, { from, limit: CHUNK });
    for (const event of events) addVersion(versions, event);
    if (events.length < CHUNK) break;
    from = (events.at(-1)?.revision ?? from) + 1;
    await nextTurn();
  }
  const kind = kindOfStream(stream);
  const { encounterId, documentId } = documentIdsOf(stream);
  const ids = kind === 'document' ? { id: encounterId, documentId } : { id: recordIdOf(stream) };
  return { kind, ...ids, versions: [...versions.values()].sort((a, b) => a.version - b.version) };
}

function addVersion(versions: Map<number, SightedVersion>, event: RecordedEvent): void {
  const { revision, position, recordedAt, type } = event;
  const step = erasureStep(event);
  if (step !== undefined) {
    // An event that still exists, as its removal was interrupted, has its type.
    for (const one of dataAs<RecordErased>(event.data).erased) {
      const known = versions.get(one.version);
      if (known === undefined)
        versions.set(one.version, { version: one.version, position: one.position, type: undefined });
    }
  }
  if (step === 'done') {
    const erasedBy = { position, recordedAt };
    const parts = Number(event.data.parts);
    for (const one of versions.values()) {
      if (one.version <= revision + 1 - parts) one.erasedBy ??= erasedBy;
    }
  }
  versions.set(revision + 1, { version: revision + 1, position, type });
}
