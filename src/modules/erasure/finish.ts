import { documentsModel } from '../../../projections/records.ts';
import { dataAs, type Position, type RecordedEvent } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { type RecordErased, tombstoneTypes } from '../../domain/events/payloads.ts';
import { documentIdsOf, recordStream } from '../../domain/events/streams.ts';
import { catalogEntry } from '../../domain/records/catalog.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { ServiceError } from '../../platform/errors.ts';
import { caughtUp } from '../records/queries/paging.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import { exclusively } from './exclusive.ts';
import { Groups } from './groups.ts';
import { ErasureRefused, heldBefore, refuseHeld } from './holdState.ts';
import { isRestored, restoreRecord } from './holds.ts';
import { findDocuments, findReferrers, type Referrer, referringAt } from './references.ts';
import { type RemovalPorts, removeErased } from './removal.ts';
import { appendTombstones, doneTombstone, type Erasure, takenWith } from './tombstones.ts';

/** What erasures work with. */
export interface ErasurePorts extends QueryPorts, RemovalPorts {}

/**
 * Does what remains once the last tombstone of an erasure is in the log: erases what goes with the record, and removes the
 * events, the bytes of documents and the attempts to deliver them to webhooks. Can be repeated, by any process, after an
 * interruption. Returns the last tombstones of everything erased with the record, the record's own first. Rejects with `conflict` (`ErasureRefused`) when
 * a legal hold came before the tombstone: the record has then been restored in full. Rejects with `unavailable`, and with
 * `unreadable` once everything that can be read is erased.
 */
export async function finishErasure(ports: ErasurePorts, done: RecordedEvent): Promise<RecordedEvent[]> {
  await refuseHeldBefore(ports, done);
  const groups = new Groups();
  const finished = await finishWhole(ports, groups, [done]);
  const ids = new Set(finished.map(({ id }) => id));
  // What another process appended tombstones for is no longer found, and that process may not have survived to remove it.
  const others = (await takenWith(ports.eventLog, done)).filter(({ id }) => !ids.has(id));
  const tombstones = [...finished, ...(await finishTogether(ports, groups, others))];
  groups.throwUnread();
  return tombstones.toSorted((a, b) => a.position - b.position);
}

/**
 * Finishes several erasures as `finishErasure` does, in groups, and returns the last tombstones of everything erased. Leaves out
 * those that a legal hold precedes. Rejects with `unavailable`.
 */
export async function finishErasures(
  ports: ErasurePorts,
  groups: Groups,
  dones: readonly RecordedEvent[],
): Promise<RecordedEvent[]> {
  const due = await groups.each(dones, (done) => withoutRefused(ports, done));
  return finishWhole(ports, groups, due);
}

async function withoutRefused(ports: ErasurePorts, done: RecordedEvent): Promise<RecordedEvent[]> {
  try {
    await refuseHeldBefore(ports, done);
    return [done];
  } catch (error) {
    if (error instanceof ErasureRefused) return [];
    throw error;
  }
}

/** Finishes those that take encounters with them one after the other, each in one process at a time. */
async function finishWhole(
  ports: ErasurePorts,
  groups: Groups,
  dones: readonly RecordedEvent[],
): Promise<RecordedEvent[]> {
  const isTaking = ({ data }: RecordedEvent) => dataAs<RecordErased>(data).with_encounters === true;
  const tombstones: RecordedEvent[] = [];
  for (const done of dones.filter(isTaking)) {
    const finish = () => finishTogether(ports, groups, [done]);
    tombstones.push(...(await exclusively(ports.stateStore, done.id, finish, groups.signal)));
  }
  const others = dones.filter((done) => !isTaking(done));
  return [...tombstones, ...(await finishTogether(ports, groups, others))];
}

/**
 * Finishes erasures that no hold precedes: first appends all tombstones of what goes with them, then removes what they cover. An
 * interruption leaves tombstones, of which each is finished on its own.
 */
async function finishTogether(
  ports: ErasurePorts,
  groups: Groups,
  dones: readonly RecordedEvent[],
): Promise<RecordedEvent[]> {
  const taken = await groups.each(dones, (done) => takeReferrers(ports, groups, done));
  const isEncounter = ({ data }: RecordedEvent) => dataAs<RecordErased>(data).kind === encounter.kind;
  const records = [...dones, ...taken];
  // Documents that were uploaded before the tombstones of their encounters are then all there.
  if (records.some(isEncounter)) await caughtUp(ports, documentsModel);
  const pieces = await groups.each(records, (one) => partsOf(ports, one));
  const parts = await groups.each(pieces, (take) => take());
  const all = new Map([...parts, ...taken, ...dones].map((done) => [done.id, done]));
  await removeErased(ports, groups, [...all.values()]);
  return [...all.values()];
}

/** Appends the tombstones of the records that go with a patient, and returns the last one of each. */
async function takeReferrers(
  ports: ErasurePorts,
  groups: Groups,
  done: RecordedEvent,
): Promise<RecordedEvent[]> {
  const { kind, record_id, reason, with_encounters } = dataAs<RecordErased>(done.data);
  if (!with_encounters) return [];
  const { workspace } = done.metadata;
  const referrers = await ofErased(ports, done, await findReferrers(ports, workspace, kind, record_id));
  const referring = await referringAt(ports.eventLog, workspace, record_id, referrers, done.position);
  const take = ({ kind: other, id }: Referrer) => {
    const stream = recordStream(workspace, other, id);
    const erasure = {
      kind: other,
      record_id: id,
      reason,
      with_patient: true,
      patient_id: record_id,
    } as const;
    return takeAlso(ports, done, stream, catalogEntry(other).title, erasure);
  };
  const isPatient = ({ kind: other }: Referrer) => other === patient.kind;
  const encounters = referring.filter((one) => !isPatient(one));
  const taken = await groups.each(encounters, take);
  // Through a patient merged into this one, its encounters are found: it goes behind them, and behind those merged into it.
  for (const one of referring.filter(isPatient)) taken.push(...(await groups.each([one], take)));
  return taken;
}

/** Returns the steps that append the tombstones of what goes with a record and is none; each returns the last one. */
async function partsOf(
  ports: ErasurePorts,
  done: RecordedEvent,
): Promise<(() => Promise<RecordedEvent[]>)[]> {
  const { kind } = dataAs<RecordErased>(done.data);
  if (kind === patient.kind) return [() => takeAttached(ports, done, 'disclosures')];
  if (kind !== encounter.kind) return [];
  const documents = await ofErased(ports, done, await findDocuments(ports.readModels, done.stream));
  const takeDocuments = documents.map(
    ({ stream }) =>
      () =>
        takeDocument(ports, done, stream),
  );
  return [...takeDocuments, () => takeAttached(ports, done, 'readiness')];
}

/**
 * Returns what was there at a tombstone and goes with the erased record, also if it was changed since, by requests that were under
 * way; without what was changed since the id was used again: it goes with the new record. Must be called with what was found before.
 */
async function ofErased<Found extends { since: Position; position: Position }>(
  { eventLog }: ErasurePorts,
  { stream, revision, position: tombstone }: RecordedEvent,
  found: Found[],
): Promise<Found[]> {
  if (found.length === 0) return found;
  const [again] = await eventLog.readStream(stream, { from: revision + 1, limit: 1 });
  const until = again?.position ?? Number.POSITIVE_INFINITY;
  return found.filter(({ since, position }) => since < tombstone && position < until);
}

/**
 * Appends the tombstones of a document along with its encounter, whose last tombstone is given; does nothing if another erasure got
 * to it first. Returns the document's last tombstone. Rejects with `unavailable`, and with `unreadable`.
 */
export function takeDocument(
  ports: ErasurePorts,
  done: RecordedEvent,
  stream: string,
): Promise<RecordedEvent[]> {
  const { record_id, reason } = dataAs<RecordErased>(done.data);
  const { documentId: document_id } = documentIdsOf(stream);
  const erasure = { kind: 'document', record_id, document_id, reason };
  return takeAlso(ports, done, stream, 'Document', erasure);
}

/** What goes with a record, in a stream of its id: an encounter's billing, and what was stated about disclosures of a patient. */
const attachedTitles = { readiness: 'Readiness', disclosures: 'Disclosures' };

/**
 * Appends the tombstones of what goes with a record, whose last tombstone is given; does nothing if there is none, if another
 * erasure got to it first, or if the id was reused and the events came since. Returns the last tombstone. Rejects with
 * `unavailable`, and with `unreadable`.
 */
export async function takeAttached(
  ports: ErasurePorts,
  done: RecordedEvent,
  kind: keyof typeof attachedTitles,
): Promise<RecordedEvent[]> {
  const { eventLog } = ports;
  const { record_id, reason } = dataAs<RecordErased>(done.data);
  const stream = recordStream(done.metadata.workspace, kind, record_id);
  const lastOf = (name: string) => eventLog.readStream(name, { direction: 'backwards', limit: 1 });
  const [last] = await lastOf(stream);
  if (last === undefined) return [];
  const [own] = await lastOf(done.stream);
  if (own?.id !== done.id && last.position > done.position && !tombstoneTypes.includes(last.type)) return [];
  return takeAlso(ports, done, stream, attachedTitles[kind], { kind, record_id, reason });
}

/**
 * Whether a record was under legal hold at its last tombstone depends only on the order of the log: every process that checks
 * gets the same answer, and so does whoever added the hold.
 */
async function refuseHeldBefore(ports: ErasurePorts, done: RecordedEvent): Promise<void> {
  const { kind, record_id, with_encounters } = dataAs<RecordErased>(done.data);
  const { workspace } = done.metadata;
  // Also those changed since, as the hold may be on one of them.
  const referrers = async () => (with_encounters ? findReferrers(ports, workspace, kind, record_id) : []);
  const held = await heldBefore(ports.eventLog, done, referrers);
  if (held) {
    await restoreRecord(ports.eventLog, done, held.record);
    refuseHeld(catalogEntry(kind).title, held.holding);
  }
  // What is held may no longer refer to the record.
  if (await isRestored(ports.eventLog, done)) {
    const message = `${catalogEntry(kind).title} was not erased: a legal hold came first.`;
    throw new ErasureRefused('held', message);
  }
}

/**
 * Appends the tombstones of what goes with a record, on behalf of whoever requested that, and returns the last one; nothing if
 * another erasure got to it first.
 */
async function takeAlso(
  ports: ErasurePorts,
  done: RecordedEvent,
  stream: string,
  title: string,
  erasure: Erasure,
): Promise<RecordedEvent[]> {
  const { eventLog } = ports;
  try {
    return [await appendTombstones(eventLog, callerOf(done), stream, title, erasure)];
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'gone')) throw error;
    // It was taken before, and perhaps not finished.
    const also = await doneTombstone(eventLog, stream, done.metadata.requestId);
    return also ? withoutRefused(ports, also) : [];
  }
}

function callerOf({ metadata }: RecordedEvent): Caller {
  const { workspace, principal, requestId, clientIp, userAgent } = metadata;
  return { workspace, principal, requestId, ...(clientIp && { clientIp }), ...(userAgent && { userAgent }) };
}
