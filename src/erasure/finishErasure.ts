import { ServiceError } from '../errors.ts';
import { dataAs, type RecordedEvent } from '../events/event.ts';
import type { Caller } from '../events/newEvent.ts';
import { type RecordErased, tombstoneTypes } from '../events/recordErased.ts';
import { documentIdsOf, encounterReadinessStream, recordStream } from '../events/streamNames.ts';
import type { QueryPorts } from '../reads/readRecord.ts';
import { catalogEntry } from '../records/catalog.ts';
import { appendTombstones, doneTombstone, type Erasure } from './appendTombstones.ts';
import { findDocuments } from './findDocuments.ts';
import { findReferrers } from './findReferrers.ts';
import { heldBefore } from './holds/heldBefore.ts';
import { refuseHeld } from './holds/holdsOver.ts';
import { restoreRecord } from './holds/restoreRecord.ts';
import { type RemovalPorts, removeErased } from './removeErased.ts';

/** What erasing works with. */
export interface ErasurePorts extends QueryPorts, RemovalPorts {}

/**
 * Does what is left to do once the last tombstone of an erasure is in the log: erases what goes with the record, removes the
 * events, the bytes of documents and the attempts to tell of them. Can be repeated, by any process, when it was cut
 * off. Gives the last tombstones of all that was erased with it. Rejects with `conflict` (`ErasureRefused`) where a legal hold came
 * before the tombstone: the record is then there again, whole. Rejects with `unavailable`, and with `unreadable`.
 */
export async function finishErasure(ports: ErasurePorts, done: RecordedEvent): Promise<RecordedEvent[]> {
  const { kind, with_encounters } = dataAs<RecordErased>(done.data);
  await refuseHeldBefore(ports, done);
  const others: RecordedEvent[] = [];
  if (with_encounters) others.push(...(await eraseEncounters(ports, done)));
  if (kind === 'encounter') {
    others.push(...(await eraseDocuments(ports, done)));
    others.push(...(await eraseReadiness(ports, done)));
  }
  await removeErased(ports, done);
  return [done, ...others];
}

async function eraseEncounters(ports: ErasurePorts, done: RecordedEvent): Promise<RecordedEvent[]> {
  const { kind, record_id, reason } = dataAs<RecordErased>(done.data);
  const { workspace } = done.metadata;
  const found: RecordedEvent[] = [];
  // What came since belongs to a record that has the id anew.
  const referrers = await findReferrers(ports, workspace, kind, record_id, done.position);
  for (const { kind: other, id } of referrers) {
    const stream = recordStream(workspace, other, id);
    const erasure = { kind: other, record_id: id, reason, with_patient: true as const };
    found.push(...(await eraseAlso(ports, done, stream, catalogEntry(other).title, erasure)));
  }
  return found;
}

async function eraseDocuments(ports: ErasurePorts, done: RecordedEvent): Promise<RecordedEvent[]> {
  const found: RecordedEvent[] = [];
  for (const stream of await findDocuments(ports, done.stream, done.position)) {
    found.push(...(await eraseDocument(ports, done, stream)));
  }
  return found;
}

/**
 * Erases a document with its encounter, whose last tombstone is given; nothing where another erasure took it before. Gives its last
 * tombstone. Rejects with `unavailable`, and with `unreadable`.
 */
export function eraseDocument(
  ports: ErasurePorts,
  done: RecordedEvent,
  stream: string,
): Promise<RecordedEvent[]> {
  const { record_id, reason } = dataAs<RecordErased>(done.data);
  const { documentId: document_id } = documentIdsOf(stream);
  const erasure = { kind: 'document', record_id, document_id, reason };
  return eraseAlso(ports, done, stream, 'Document', erasure);
}

/**
 * Erases what became of an encounter in billing with the encounter, whose last tombstone is given; nothing where there is nothing, where
 * another erasure took it before, or where the id is used again and what is there came since. Gives its last tombstone. Rejects
 * with `unavailable`, and with `unreadable`.
 */
export async function eraseReadiness(ports: ErasurePorts, done: RecordedEvent): Promise<RecordedEvent[]> {
  const { eventLog } = ports;
  const { record_id, reason } = dataAs<RecordErased>(done.data);
  const stream = encounterReadinessStream(done.metadata.workspace, record_id);
  const lastOf = (name: string) => eventLog.readStream(name, { direction: 'backwards', limit: 1 });
  const [last] = await lastOf(stream);
  if (last === undefined) return [];
  const [own] = await lastOf(done.stream);
  if (own?.id !== done.id && last.position > done.position && !tombstoneTypes.includes(last.type)) return [];
  return eraseAlso(ports, done, stream, 'Readiness', { kind: 'readiness', record_id, reason });
}

/**
 * Whether a record was under legal hold when its last tombstone came is a matter of the log's order alone: every process that looks
 * finds the same, and so does who added the hold.
 */
async function refuseHeldBefore(ports: ErasurePorts, done: RecordedEvent): Promise<void> {
  const { kind, record_id, with_encounters } = dataAs<RecordErased>(done.data);
  const referrers = () =>
    with_encounters ? findReferrers(ports, done.metadata.workspace, kind, record_id, done.position) : [];
  const held = await heldBefore(ports.eventLog, done, async () => referrers());
  if (held === undefined) return;
  await restoreRecord(ports.eventLog, done, held.record);
  refuseHeld(catalogEntry(kind).title, held.holding);
}

/** Erases what goes with a record, in the name of who asked for that; nothing where another erasure took it before. */
async function eraseAlso(
  ports: ErasurePorts,
  done: RecordedEvent,
  stream: string,
  title: string,
  erasure: Erasure,
): Promise<RecordedEvent[]> {
  try {
    const also = await appendTombstones(ports.eventLog, callerOf(done), stream, title, erasure);
    return await finishErasure(ports, also);
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'gone')) throw error;
    // Another process may finish the same erasure: it is complete when that part is.
    const also = await doneTombstone(ports.eventLog, stream, done.metadata.requestId);
    return also ? finishErasure(ports, also) : [];
  }
}

function callerOf({ metadata }: RecordedEvent): Caller {
  const { workspace, principal, requestId, clientIp, userAgent } = metadata;
  return { workspace, principal, requestId, ...(clientIp && { clientIp }), ...(userAgent && { userAgent }) };
}
