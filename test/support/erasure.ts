import { v7 as uuidv7 } from 'uuid';
import { dataAs, type ErasedEvent } from '../../src/domain/events/event.ts';
import { type ErasedVersion, RECORD_ERASED, type RecordErased } from '../../src/domain/events/payloads.ts';
import { eventLeaf } from '../../src/domain/merkle.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';

import type { TestWorkspace } from './newEvents.ts';

/** A removal that tombstones stand ready for: the arguments of `EventLog.erase`. */
export type Removal = [stream: string, before: number, erased: ErasedEvent[]];

/** Appends the tombstones of all that a stream ever held, in so many parts; `erase` makes the removal then. */
export async function appendTombstones(
  log: EventLog,
  workspace: TestWorkspace,
  stream: string,
  parts = 1,
): Promise<Removal> {
  const events = await log.readStream(stream, { limit: 100_000 });
  const earlier = events
    .filter(({ type, revision }) => type === RECORD_ERASED && revision < (events[0]?.revision ?? 0) + 10)
    .flatMap(({ data }) => dataAs<RecordErased>(data).erased);
  const versions: ErasedVersion[] = [
    ...earlier,
    ...events.map((event) => ({
      version: event.revision + 1,
      position: event.position,
      event_id: event.id,
      leaf: eventLeaf(event),
    })),
  ];
  const size = Math.ceil(versions.length / parts);
  const erasureId = uuidv7();
  for (let part = 1; part <= parts; part += 1) {
    const data: RecordErased = {
      erasure_id: erasureId,
      kind: 'patient',
      record_id: 'p-1',
      reason: 'asked for',
      part,
      parts,
      erased: versions.slice((part - 1) * size, part * size),
    };
    const tombstone = workspace.event({ ...data }, RECORD_ERASED);
    await log.append(stream, tombstone, versions.length - 2 + part);
  }
  const erased = versions.map(({ version, position, event_id: id, leaf }) => ({
    id,
    stream,
    revision: version - 1,
    position,
    leaf,
  }));
  return [stream, versions.length, erased];
}

/** Erases all that a stream ever held, as the service does; gives the places. */
export async function erase(
  log: EventLog,
  workspace: TestWorkspace,
  stream: string,
  parts = 1,
): Promise<ErasedEvent[]> {
  const removal = await appendTombstones(log, workspace, stream, parts);
  await log.erase(...removal);
  return removal[2];
}
