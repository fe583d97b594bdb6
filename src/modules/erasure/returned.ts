import {
  dataAs,
  type Position,
  type Principal,
  type RecordedEvent,
  type ReturnChoice,
} from '../../domain/events/event.ts';
import { type Caller, newEvent } from '../../domain/events/newEvent.ts';
import { erasureStep, type RecordErased, tombstoneTypes } from '../../domain/events/payloads.ts';
import { recordStream, returnStream } from '../../domain/events/streams.ts';
import { upcast } from '../../domain/events/upcasting.ts';
import type { CatalogEntry } from '../../domain/records/schema/kind.ts';
import { asUnreadable, notFound, ServiceError, UnreadableError } from '../../platform/errors.ts';
import { appendDecided, type EventLog, followToEnd } from '../../storage/eventLog.ts';
import { findPreviousAppend } from '../idempotency/keys.ts';
import {
  type ErasedRecord,
  type RecordReturnDecided,
  type ReturnDecision,
  readReturn,
} from '../records/commands/returns.ts';
import { decodeToken, encodeToken, type Page, type PageRequest } from '../records/queries/paging.ts';
import { allInTurns, foldStream } from '../records/queries/records.ts';
import { requireReason } from './holdState.ts';

/** What was decided about the return of a record. */
interface Decided {
  decision: ReturnDecision;
  reason: string;
  /** ISO 8601, UTC. */
  at: string;
  principal: Principal;
}

/** A record that was sent again after its erasure, or about whose return somebody decided. */
export interface ReturnedRecord {
  kind: string;
  id: string;
  /**
   * `returned`: it exists again. Otherwise what happens when it is sent: `waiting`: it is refused until somebody decides; `refused`; `allowed`:
   * it returns.
   */
  state: 'returned' | 'waiting' | 'refused' | 'allowed';
  /** ISO 8601, UTC. */
  erased_at: string;
  /** When it was first refused since; null if it was not. */
  refused_at: string | null;
  returned_at: string | null;
  /** Its first version after the erasure. */
  version: number | null;
  /** Who sent it, first where it was refused; null if nobody has. */
  principal: Principal | null;
  request_id: string | null;
  /** The last decision. */
  decided: Decided | null;
}

/** What was noted of a record's return after an erasure, besides its own stream. */
interface Noted {
  /** How many events were folded. */
  version: number;
  refused?: RecordedEvent;
  decided?: RecordedEvent;
}

/** Returns the fold of the next event of a stream of returns; `erasure`: the version of the tombstone that ended it. */
function notedFold(erasure: number) {
  return (before: Noted | undefined, event: RecordedEvent): Noted => {
    const state = { ...before, version: event.revision + 1 };
    if (dataAs<ErasedRecord>(upcast(event).data).version !== erasure) return state;
    const isDecision = event.type === 'RecordReturnDecided';
    return isDecision ? { ...state, decided: event } : { ...state, refused: before?.refused ?? event };
  };
}

/** Who sent a record, in which request. */
function senderOf(event: RecordedEvent | undefined): Pick<ReturnedRecord, 'principal' | 'request_id'> {
  if (event === undefined) return { principal: null, request_id: null };
  return { principal: event.metadata.principal, request_id: event.metadata.requestId ?? event.id };
}

function decidedBy(event: RecordedEvent | undefined): Decided | null {
  if (event === undefined) return null;
  const { decision, reason } = dataAs<RecordReturnDecided>(event.data);
  return { decision, reason, at: event.recordedAt, principal: event.metadata.principal };
}

const stateOf = { allow: 'allowed', refuse: 'refused', review: 'waiting' } as const;

/** How many erasures are looked at at the same time. */
const WAVE = 32;

/** A record that returned, and the position of the tombstone that ended its erasure. */
interface ReturnedAt {
  record: ReturnedRecord;
  position: Position;
}

/**
 * Yields the records of a workspace that were sent again after an erasure, or about whose return somebody decided, some at a time, in the order of the
 * erasures; of those that were erased again since, the next one. `choice`: that of the workspace. `after`: only erasures that ended after this position.
 * Takes one pass through the tombstones, and two reads for each that ends an erasure. Rejects with `unavailable`.
 */
export async function* returnedRecords(
  eventLog: EventLog,
  workspace: string,
  choice: ReturnChoice,
  after: Position = 0,
): AsyncGenerator<ReturnedAt[]> {
  const filter = { eventTypes: [...tombstoneTypes] };
  const isEnd = (event: RecordedEvent) => {
    const { kind, record_id: id } = dataAs<RecordErased>(event.data);
    return erasureStep(event) === 'done' && event.stream === recordStream(workspace, kind, id);
  };
  for await (const { events } of followToEnd(eventLog, { after, filter })) {
    const ends = events.filter(isEnd);
    for (let from = 0; from < ends.length; from += WAVE) {
      const wave = ends.slice(from, from + WAVE);
      const found = await allInTurns(wave, (end) => returnedSince(eventLog, workspace, choice, end));
      yield found.flatMap((record, at) =>
        record ? [{ record, position: (wave[at] as RecordedEvent).position }] : [],
      );
    }
  }
}

/** Resolves with what became of a record after the end of an erasure; undefined if nothing, or if it was erased again. */
async function returnedSince(
  eventLog: EventLog,
  workspace: string,
  choice: ReturnChoice,
  { stream, revision, recordedAt, data }: RecordedEvent,
): Promise<ReturnedRecord | undefined> {
  const { kind, record_id: id } = dataAs<RecordErased>(data);
  const [since, found = { version: 0 }] = await Promise.all([
    eventLog.readStream(stream, { from: revision + 1, limit: 1 }).catch(asUnreadable),
    foldStream(eventLog, returnStream(workspace, kind, id), notedFold(revision + 1)).catch(asUnreadable),
  ]);
  const isNoted =
    found instanceof UnreadableError || found.refused !== undefined || found.decided !== undefined;
  const noted: Omit<Noted, 'version'> = found instanceof UnreadableError ? {} : found;
  // It exists again, whatever its first version says.
  const isUnreadable = since instanceof UnreadableError;
  const next = isUnreadable ? undefined : since[0];
  const isReturned = isUnreadable || (next !== undefined && erasureStep(next) === undefined);
  if (!isReturned && (next || !isNoted)) return undefined;
  const decided = decidedBy(noted.decided);
  // Where all return, no decision counts.
  const counting = choice === 'allow' ? choice : (decided?.decision ?? choice);
  return {
    ...{ kind, id, state: isReturned ? 'returned' : stateOf[counting] },
    ...{ erased_at: recordedAt, refused_at: noted.refused?.recordedAt ?? null },
    returned_at: next?.recordedAt ?? null,
    version: next ? next.revision + 1 : null,
    ...senderOf(next ?? noted.refused),
    decided,
  };
}

/** Resolves with one page of these records. Rejects with `validation_failed` for an invalid token, and with `unavailable`. */
export async function returnedPage(
  eventLog: EventLog,
  workspace: string,
  choice: ReturnChoice,
  { limit, pageToken }: PageRequest,
): Promise<Page<ReturnedRecord>> {
  const scope = ['returned', workspace];
  const after = pageToken === undefined ? 0 : decodeToken(pageToken, scope);
  const found: ReturnedAt[] = [];
  for await (const part of returnedRecords(eventLog, workspace, choice, after)) {
    found.push(...part);
    if (found.length > limit) break;
  }
  const shown = found.slice(0, limit);
  const last = found.length > limit ? shown.at(-1) : undefined;
  return {
    items: shown.map(({ record }) => record),
    next_page_token: last ? encodeToken(last.position, scope) : null,
  };
}

/**
 * Decides whether an erased record returns when it is sent again, whatever its workspace chose; appends nothing when it is decided so already. The next
 * erasure of the record ends the decision. Rejects with `not_found` when there never was such a record, with `conflict` when it is not
 * erased, with `validation_failed` without a reason, with `unreadable` and `unavailable`.
 */
export async function decideReturn(
  eventLog: EventLog,
  caller: Caller,
  { kind, title }: Pick<CatalogEntry, 'kind' | 'title'>,
  id: string,
  { decision, reason }: Pick<RecordReturnDecided, 'decision' | 'reason'>,
): Promise<void> {
  const { workspace } = caller;
  const said = requireReason(reason);
  const returns = returnStream(workspace, kind, id);
  if (await findPreviousAppend(eventLog, returns, caller)) return;
  const [last] = await eventLog.readStream(recordStream(workspace, kind, id), {
    direction: 'backwards',
    limit: 1,
  });
  if (last === undefined) throw notFound(title);
  if (erasureStep(last) !== 'done') throw notErased(title);
  const erased = { kind, record_id: id, version: last.revision + 1 };
  const read = () => readReturn(eventLog, workspace, erased);
  await appendDecided(eventLog, returns, read, ({ decision: before }) => {
    if (before === decision) return undefined;
    const data: RecordReturnDecided = { ...erased, decision, reason: said };
    return newEvent(caller, 'RecordReturnDecided', { ...data });
  });
}

/** Returns the error for a decision about a record that exists. */
export function notErased(title: string): ServiceError {
  return new ServiceError('conflict', `${title} is not erased: there is nothing to decide.`);
}
