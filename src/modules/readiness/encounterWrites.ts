import type { JsonObject } from '../../domain/events/event.ts';
import { type Caller, newEvent } from '../../domain/events/newEvent.ts';
import { encounterReadinessStream } from '../../domain/events/streams.ts';
import { unavailable } from '../../platform/errors.ts';
import { appendBehind } from '../../storage/eventLog.ts';
import { findPreviousAppend } from '../idempotency/keys.ts';
import { conditionNotMet } from '../records/commands/upsert.ts';
import { foldStream, type QueryPorts } from '../records/queries/records.ts';
import { type BillingState, evolveBilling } from './billing.ts';
import { type Readiness, readReadiness } from './queries.ts';

/** Something to record about an encounter's billing or findings. */
interface EncounterWrite {
  encounterId: string;
  /** The expected version of the encounter; undefined: any version. */
  version?: number | undefined;
  eventType: string;
  /**
   * Returns the event's data, besides the encounter's id; undefined when it is already recorded. Throws when it cannot be recorded.
   * `before`: what the stream says so far.
   */
  dataFor(readiness: Readiness, before: BillingState | undefined): JsonObject | undefined;
}

/** What was recorded. */
interface EncounterWritten {
  /** Before the event; when a request is repeated, now. */
  readiness: Readiness;
  before: BillingState | undefined;
  /** Of the event; undefined when none was appended. */
  data: JsonObject | undefined;
}

/**
 * Appends an event to an encounter's `encounterReadinessStream`, based on the log. Durable when it resolves. Rejects with
 * `not_found`, `gone`, with `version_conflict` when the encounter has another version, with `unreadable`, and with `unavailable`,
 * also while the erasure of an earlier encounter with the same id is under way.
 */
export async function writeOnEncounter(
  ports: QueryPorts,
  caller: Caller,
  { encounterId, version, eventType, dataFor }: EncounterWrite,
): Promise<EncounterWritten> {
  const { eventLog } = ports;
  const { workspace } = caller;
  const stream = encounterReadinessStream(workspace, encounterId);
  const earlier = await findPreviousAppend(eventLog, stream, caller);
  for (;;) {
    const range = earlier && { version: earlier.revision };
    const before = await foldStream(eventLog, stream, evolveBilling, range);
    const readiness = await readReadiness(ports, workspace, encounterId, undefined);
    if (earlier) return { readiness, before, data: earlier.data };
    const { encounter, begunAt } = readiness;
    if (version !== undefined && version !== encounter.version)
      throw conditionNotMet('record', encounter.version);
    requireErased(before, begunAt);
    const data = dataFor(readiness, before);
    if (data === undefined) return { readiness, before, data };
    const event = newEvent(caller, eventType, { encounter_id: encounterId, ...data });
    const appended = await appendBehind(eventLog, stream, event, (before?.version ?? 0) - 1);
    // Something else may have been recorded in the meantime: decide again then.
    if (appended) return { readiness, before, data };
  }
}

/** The billing of an erased encounter goes with its stream: nothing new may follow it. */
function requireErased(state: BillingState | undefined, begunAt: number): void {
  if (state?.since !== undefined && state.since < begunAt)
    throw unavailable('stream of the encounter that had this id before, which is being erased,');
}
