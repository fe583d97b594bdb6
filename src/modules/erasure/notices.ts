import { z } from 'zod';
import { dataAs, type Position, principalTypes, type RecordedEvent } from '../../domain/events/event.ts';
import { erasureStep, type RecordErased, tombstoneTypes } from '../../domain/events/payloads.ts';
import { documentIdsOf, kindOfStream, recordIdOf, workspaceOfStream } from '../../domain/events/streams.ts';
import { ServiceError, unavailable } from '../../platform/errors.ts';
import type { EventBatch, EventLog } from '../../storage/eventLog.ts';
import type { StateStore, StateTable } from '../../storage/stateStore.ts';
import type { TreeHeadPublisher } from '../../storage/targets.ts';
import { type PublicKeys, type SigningKey, signatureFields, signObject } from '../integrity/publicKeys.ts';
import { Groups } from './groups.ts';
import { isRestored } from './holds.ts';
import { type RemovalPorts, removeErased } from './removal.ts';
import { appendTombstones, type Erasure } from './tombstones.ts';

/**
 * A completed erasure of one stream. It identifies the stream by places in the log, so that a notice reveals nothing to anyone
 * who has neither the log nor a backup of it.
 */
const noticedErasureSchema = z.strictObject({
  /** Position of its last tombstone. */
  tombstone: z.int().min(1),
  /** The start of the stream: position and id of its first event. */
  first: z.strictObject({ position: z.int().min(1), event_id: z.string() }),
  /** The request that asked for it; the same for everything erased together. */
  erasure_id: z.string(),
  /** Who requested it. */
  principal: z.strictObject({ type: z.enum(principalTypes), id: z.string() }),
  /** When the log recorded the tombstone, ISO 8601, UTC. */
  erased_at: z.string(),
});
export type NoticedErasure = z.infer<typeof noticedErasureSchema>;

/** A signed statement of all erasures completed between two positions of the log. */
const erasureNoticeSchema = z.strictObject({
  type: z.literal('chartledger.erasures.v1'),
  /** Identity of the event log. */
  log: z.uuid(),
  /** It covers tombstones after this position; earlier ones are covered by other notices. */
  after: z.int().min(0),
  /** It covers tombstones up to and including this position. */
  until: z.int().min(0),
  /** It covers all erasures completed by then; ISO 8601, UTC. */
  as_of: z.string(),
  erasures: z.array(noticedErasureSchema),
  ...signatureFields,
});
export type ErasureNotice = z.infer<typeof erasureNoticeSchema>;

/** Prefix of the names of all files of notices, and of no heads: a workspace's id is followed by a hyphen. */
export const NOTICES = 'erasures.';
const POSITION_DIGITS = 16;

/**
 * Signs a notice for a file with that name. A notice that is sent once more, because nobody knows that it was, gets another name: a
 * place keeps what it has.
 */
function signNotice(
  notice: Omit<ErasureNotice, 'type' | keyof typeof signatureFields>,
  signingKey: SigningKey,
): { name: string; text: string } {
  const signed = signObject({ type: 'chartledger.erasures.v1' as const, ...notice }, signingKey);
  const [after, until] = [notice.after, notice.until].map((at) => String(at).padStart(POSITION_DIGITS, '0'));
  const signedAt = new Date().toISOString().replaceAll(/[-:.]/g, '');
  const name = `${NOTICES}${after}-${until}-${signedAt}.json`;
  return { name, text: `${JSON.stringify(signed, undefined, 2)}\n` };
}

/**
 * Returns the outcome of the erasure with the given last tombstone: a notice of it, once its events are removed; `under way`; or
 * `none` when a legal hold restored the record, or a later erasure of the stream covers it. Rejects with `unreadable` and
 * `unavailable`.
 */
async function erasureOutcome(
  eventLog: EventLog,
  done: RecordedEvent,
): Promise<NoticedErasure | 'under way' | 'none'> {
  const { stream, revision, position: tombstone, recordedAt: erased_at } = done;
  const { erasure_id, parts } = dataAs<RecordErased>(done.data);
  const begun = revision - parts + 1;
  const [next] = await eventLog.readStream(stream, { from: begun - 1, limit: 1 });
  if (next?.revision === begun - 1) return (await isRestored(eventLog, done)) ? 'none' : 'under way';
  const [version] = next?.revision === begun ? dataAs<RecordErased>(next.data).erased : [];
  if (version === undefined) return 'none';
  const { type, id } = done.metadata.principal;
  const first = { position: version.position, event_id: version.event_id };
  return { tombstone, first, erasure_id, principal: { type, id }, erased_at };
}

/** How far notices were sent for each log, by the log's identity. If this is lost, all are sent again. */
export const noticesTable: StateTable<{ position: Position }> = {
  name: 'erasure_notices_v1',
  body: z.object({ position: z.number() }),
};
/** Maximum number of erasures in a notice. */
const MOST = 1_000;
/** The log itself waits for a store that is unreachable. */
const STALLED_MS = 30_000;

interface NoticePorts {
  eventLog: EventLog;
  stateStore: StateStore;
  target: TreeHeadPublisher;
}

/**
 * Informs a place outside the service of every completed erasure, so that an older backup does not bring back erased data. Each
 * notice begins where the previous one ended, so that a missing one is noticed.
 */
export class ErasureNotices {
  readonly #ports: NoticePorts;
  /** The log was checked up to here, and everything to report was reported. */
  #searchedTo: Position = 0;

  constructor(ports: NoticePorts) {
    this.#ports = ports;
  }

  /**
   * Sends notices of the erasures completed since the last notice; if there are none but the log has grown, and one `isDue`,
   * sends a notice that says so. An erasure under way holds up those after it. Rejects with `unavailable`, and with `unreadable`.
   */
  async send(signingKey: SigningKey, isDue: boolean): Promise<void> {
    const { eventLog } = this.#ports;
    const log = await eventLog.identity();
    let after = await this.#noticed(log);
    let erasures: NoticedErasure[] = [];
    const notice = async (until: Position, as_of: string) => {
      await this.#send({ log, after, until, as_of, erasures }, signingKey);
      after = until;
      erasures = [];
    };
    const now = new Date().toISOString();
    const isSearched = this.#searchedTo > after && (await eventLog.hasPosition(this.#searchedTo));
    let reached = isSearched ? this.#searchedTo : after;
    for await (const batch of tombstones(eventLog, reached)) {
      for (const event of batch.events) {
        if (erasureStep(event) !== 'done') continue;
        const became = await erasureOutcome(eventLog, event);
        if (became === 'under way') {
          const last = erasures.at(-1);
          if (last) await notice(last.tombstone, last.erased_at);
          return;
        }
        if (became === 'none') continue;
        erasures.push(became);
        if (erasures.length === MOST) await notice(became.tombstone, became.erased_at);
      }
      reached = batch.position;
    }
    if (erasures.length > 0 || (isDue && reached > after)) await notice(reached, now);
    this.#searchedTo = reached;
  }

  /**
   * The position up to which notices were sent; 0 when it is not a position of the log, which was then restored to an earlier
   * state.
   */
  async #noticed(log: string): Promise<Position> {
    const { eventLog, stateStore } = this.#ports;
    const [row] = await stateStore.load(noticesTable, [log]);
    if (row === undefined) return 0;
    if (await eventLog.hasPosition(row.body.position)) return row.body.position;
    await stateStore.remove(noticesTable, [log], row.revision);
    return 0;
  }

  async #send(notice: Parameters<typeof signNotice>[0], signingKey: SigningKey): Promise<void> {
    const { stateStore, target } = this.#ports;
    const { name, text } = signNotice(notice, signingKey);
    await target.write(name, text);
    const { log: id, until: position } = notice;
    await stateStore.save(noticesTable, [
      { id, partition: id, order: 0, revision: position, body: { position } },
    ]);
  }
}

/** Yields batches of tombstones after a position, up to the log's end. */
async function* tombstones(eventLog: EventLog, after: Position): AsyncGenerator<EventBatch> {
  const signal = AbortSignal.timeout(STALLED_MS);
  const filter = { eventTypes: [...tombstoneTypes] };
  for await (const batch of eventLog.follow({ after, filter, signal })) {
    yield batch;
    if (batch.caughtUp) return;
  }
  throw unavailable('event log');
}

/** An erasure that is missing from a copy of the log, and the stream that it concerned. */
export interface UnknownErasure extends NoticedErasure {
  stream: string;
}

/**
 * Carries out erasures that a restored log lacks, on behalf of those who requested them, and purges their bytes from the stores'
 * files, except for those of an event log whose server scavenges. Events added to a stream after its erasure stay. Returns the
 * number of erased streams. Can be repeated. Rejects with `unreadable`, and with `unavailable`.
 */
export async function eraseAgain(ports: RemovalPorts, erasures: readonly UnknownErasure[]): Promise<number> {
  let count = 0;
  for (const erasure of erasures) if (await eraseOne(ports, erasure)) count += 1;
  if (count === 0) return 0;
  await ports.stateStore.purge();
  await ports.eventLog.purge();
  return count;
}

async function eraseOne(
  ports: RemovalPorts,
  { stream, tombstone, erasure_id, principal, erased_at }: UnknownErasure,
): Promise<boolean> {
  const [first] = await ports.eventLog.readStream(stream, { limit: 1 });
  if (first === undefined || first.position > tombstone) return false;
  const caller = { workspace: workspaceOfStream(stream), principal, requestId: erasure_id };
  const reason = `It was erased before, at ${erased_at}, and was in an older backup that was restored.`;
  try {
    const erasure = { ...erasedBy(stream), reason };
    const groups = new Groups();
    const done = await appendTombstones(ports.eventLog, caller, stream, 'Record', erasure);
    await removeErased(ports, groups, [done]);
    groups.throwUnread();
    return true;
  } catch (error) {
    // The backup holds an earlier erasure of the stream, and nothing since.
    if (error instanceof ServiceError && error.code === 'gone') return false;
    throw error;
  }
}

/** What a tombstone says about the contents of a stream. */
function erasedBy(stream: string): Omit<Erasure, 'reason'> {
  const kind = kindOfStream(stream);
  if (kind !== 'document') return { kind, record_id: recordIdOf(stream) };
  const { encounterId, documentId } = documentIdsOf(stream);
  return { kind, record_id: encounterId, document_id: documentId };
}

/** Which log was copied, and up to where. */
interface Copy {
  log: string;
  last_position: Position;
  created_at: string;
}

/** What notices say about erasures after the end of a copy of the log. */
export interface LaterErasures {
  erasures: NoticedErasure[];
  /** No erasure completed by then is missing; ISO 8601, UTC. */
  asOf: string;
  /** A line for each notice that is missing or invalid. */
  problems: string[];
}

/**
 * Reads what a place holds about erasures after the end of a copy of a log. Rejects with `conflict` when only the place itself
 * can read it, and with `unavailable`.
 */
export async function readNotices(
  target: TreeHeadPublisher,
  copy: Copy,
  publicKeys: PublicKeys,
): Promise<LaterErasures> {
  const { place } = target;
  if (target.list === undefined) {
    const message = `Notices of erasures cannot be read from ${place}. Copy them to a folder and specify that folder.`;
    throw new ServiceError('conflict', message);
  }
  const problems: string[] = [];
  const notices: ErasureNotice[] = [];
  let count = 0;
  for await (const { name, text } of target.list(NOTICES)) {
    count += 1;
    const notice = parse(text);
    // What it reports is in the copy, so whether it is true of this log no longer matters.
    if (notice && notice.log === copy.log && notice.until <= copy.last_position) continue;
    const problem = notice ? problemOf(notice, copy, publicKeys) : 'it is not a notice of erasures';
    if (notice === undefined || problem)
      problems.push(`The notice ${name} in ${place} is not valid: ${problem}.`);
    else notices.push(notice);
  }
  if (count === 0) problems.push(`No notices of erasures were found in ${place}.`);
  let asOf = copy.created_at;
  let until = copy.last_position;
  for (const notice of notices.toSorted((a, b) => a.after - b.after || a.until - b.until)) {
    if (notice.after > until)
      problems.push(
        `A notice of erasures is missing in ${place}: the one for positions ${until} to ${notice.after}.`,
      );
    until = Math.max(until, notice.until);
    if (notice.as_of > asOf) asOf = notice.as_of;
  }
  return { erasures: notices.flatMap((notice) => notice.erasures), asOf, problems };
}

function problemOf(notice: ErasureNotice, { log }: Copy, publicKeys: PublicKeys): string | undefined {
  return notice.log === log ? publicKeys.problemAt(notice, notice.as_of) : 'it belongs to another event log';
}

function parse(text: string): ErasureNotice | undefined {
  try {
    return erasureNoticeSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
