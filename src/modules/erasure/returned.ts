import { dataAs, type Principal, type RecordedEvent, type ReturnChoice } from '../../domain/events/event.ts';
import { type Caller, newEvent } from '../../domain/events/newEvent.ts';
import { erasureStep, type RecordErased } from '../../domain/events/payloads.ts';
import { recordStream, returnStream } from '../../domain/events/streams.ts';
import type { CatalogEntry } from '../../domain/records/schema/kind.ts';
import { notFound, ServiceError } from '../../platform/errors.ts';
import { appendDecided, type EventLog, followToEnd } from '../../storage/eventLog.ts';
import { findPreviousAppend } from '../idempotency/keys.ts';
import {
  type ErasedRecord,
  type RecordReturnDecided,
  type ReturnDecision,
  readReturn,
} from '../records/commands/returns.ts';
import { requireReason } from './holdState.ts';
import { tombstonesAfter } from './tombstones.ts';

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

/** What is known of a record's return besides its own stream. */
interface Noted {
  refused?: RecordedEvent;
  decided?: RecordedEvent;
}

/** Returns a key of an erasure. */
function keyOf(workspace: string, { kind, record_id: id, version }: ErasedRecord): string {
  return `${recordStream(workspace, kind, id)} ${version}`;
}

async function notedReturns(eventLog: EventLog, workspace: string): Promise<Map<string, Noted>> {
  const noted = new Map<string, Noted>();
  const filter = { eventTypes: ['RecordReturnRefused', 'RecordReturnDecided'] };
  for await (const { events } of followToEnd(eventLog, { after: 0, filter })) {
    for (const event of events.filter(({ metadata }) => metadata.workspace === workspace)) {
      const key = keyOf(workspace, dataAs<ErasedRecord>(event.data));
      const before = noted.get(key) ?? {};
      const isDecision = event.type === 'RecordReturnDecided';
      noted.set(key, isDecision ? { ...before, decided: event } : { refused: event, ...before });
    }
  }
  return noted;
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

/**
 * Yields the records of a workspace that were sent again after an erasure, or about whose return somebody decided, in the order of the erasures; of
 * those that were erased again since, the next one. `choice`: that of the workspace. Takes one pass through all
 * tombstones, and a read for each that ends an erasure. Rejects with `unavailable`.
 */
export async function* returnedRecords(
  eventLog: EventLog,
  workspace: string,
  choice: ReturnChoice,
): AsyncGenerator<ReturnedRecord> {
  const noted = await notedReturns(eventLog, workspace);
  for await (const tombstone of tombstonesAfter(eventLog, 0)) {
    const { kind, record_id: id } = dataAs<RecordErased>(tombstone.data);
    const { stream } = tombstone;
    if (erasureStep(tombstone) !== 'done' || stream !== recordStream(workspace, kind, id)) continue;
    const erased = { kind, record_id: id, version: tombstone.revision + 1 };
    const { refused, decided: decision } = noted.get(keyOf(workspace, erased)) ?? {};
    const [next] = await eventLog.readStream(stream, { from: tombstone.revision + 1, limit: 1 });
    const isReturned = next !== undefined && erasureStep(next) === undefined;
    if (!isReturned && (next || !(refused ?? decision))) continue;
    const decided = decidedBy(decision);
    yield {
      ...{ kind, id, state: isReturned ? 'returned' : stateOf[decided?.decision ?? choice] },
      ...{ erased_at: tombstone.recordedAt, refused_at: refused?.recordedAt ?? null },
      returned_at: next?.recordedAt ?? null,
      version: next ? next.revision + 1 : null,
      ...senderOf(next ?? refused),
      decided,
    };
  }
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
