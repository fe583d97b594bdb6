import { isDeepStrictEqual } from 'node:util';
import { dataAs, type JsonObject } from '../../domain/events/event.ts';
import { type Caller, newEvent } from '../../domain/events/newEvent.ts';
import type { UsedVersion } from '../../domain/events/readinessEvents.ts';
import { encounterReadinessStream } from '../../domain/events/streams.ts';
import type { Outcome } from '../../domain/records/fold.ts';
import { type FieldMessage, ServiceError, unavailable } from '../../platform/errors.ts';
import { appendBehind } from '../../storage/eventLog.ts';
import { findPreviousAppend } from '../idempotency/keys.ts';
import { conditionNotMet } from '../records/commands/upsert.ts';
import { foldStream, type QueryPorts } from '../records/queries/records.ts';
import { type BillingState, evolveBilling } from './billing.ts';
import { type Readiness, readReadiness } from './queries.ts';
import { filingLimitNear } from './rules/dates.ts';
import { changedAfterBilling } from './rules/encounter.ts';
import { isVoid, noSettings, type Rule } from './rules/rule.ts';

/** Something to record about an encounter's billing. */
interface BillingWrite {
  encounterId: string;
  /** The expected version of the encounter; undefined: any version. */
  version: number | undefined;
  eventType: string;
  /** Returns the event's data; undefined when it is already recorded. Throws when it cannot be recorded. */
  dataFor(readiness: Readiness): JsonObject | undefined;
}

/** The result of the write. */
export interface BillingWritten {
  /** Of the encounter. */
  version: number;
  /** `created`: it was billed for the first time; `unchanged`: no event was appended. */
  outcome: Outcome;
  /** The versions that apply. */
  versions: UsedVersion[];
  /** The readiness findings, by `kind.field`. */
  warnings: FieldMessage[];
}

/**
 * Appends an event to an encounter's `encounterReadinessStream`, based on the log. Durable when it resolves. Rejects with
 * `not_found`, `gone`, with `version_conflict` when the encounter has another version, with `unreadable`, and with `unavailable`,
 * also while the erasure of an earlier encounter with the same id is under way.
 */
async function writeBilling(
  ports: QueryPorts,
  caller: Caller,
  { encounterId, version, eventType, dataFor }: BillingWrite,
): Promise<BillingWritten> {
  const { eventLog } = ports;
  const { workspace } = caller;
  const stream = encounterReadinessStream(workspace, encounterId);
  const earlier = await findPreviousAppend(eventLog, stream, caller);
  for (;;) {
    const before = await foldStream(
      eventLog,
      stream,
      evolveBilling,
      earlier && { version: earlier.revision },
    );
    const readiness = await readReadiness(ports, workspace, encounterId, undefined);
    const outcome = before?.billing === undefined ? 'created' : 'updated';
    if (earlier)
      return written(readiness, outcome, dataAs<{ versions: UsedVersion[] }>(earlier.data).versions);
    const { encounter, begunAt } = readiness;
    if (version !== undefined && version !== encounter.version)
      throw conditionNotMet('record', encounter.version);
    requireErased(before, begunAt);
    const data = dataFor(readiness);
    const versions = readiness.used;
    if (data === undefined) return written(readiness, 'unchanged', versions);
    const event = newEvent(caller, eventType, { encounter_id: encounterId, versions, ...data });
    const appended = await appendBehind(eventLog, stream, event, (before?.version ?? 0) - 1);
    // Something else may have been recorded in the meantime: decide again then.
    if (appended) return written(readiness, outcome, versions);
  }
}

/** The billing of an erased encounter goes with its stream: nothing new may follow it. */
function requireErased(state: BillingState | undefined, begunAt: number): void {
  if (state?.since !== undefined && state.since < begunAt)
    throw unavailable('stream of the encounter that had this id before, which is being erased,');
}

/** Rules whose findings end with the billing. */
const endedByBilling: readonly Rule[] = [changedAfterBilling, filingLimitNear];

function written(
  { encounter, findings }: Readiness,
  outcome: Outcome,
  versions: UsedVersion[],
): BillingWritten {
  const others = findings.filter(({ rule }) => !endedByBilling.includes(rule));
  return {
    version: encounter.version,
    outcome,
    versions,
    warnings: others.map(({ record, field, text }) => ({ field: `${record.kind}.${field}`, message: text })),
  };
}

/** Accepts changes made after billing. */
interface Acknowledgement {
  reason: string;
  /** Of the encounter. */
  version?: number | undefined;
  /** The reviewed versions of everything in the claim; undefined: any versions. */
  versions?: readonly UsedVersion[] | undefined;
}

/** The error for an acknowledgement when nothing was billed. */
export function notBilled(): ServiceError {
  return new ServiceError(
    'conflict',
    'The encounter has not been billed, so there is nothing to acknowledge.',
  );
}

/** The error for an acknowledgement when the records are no longer those that were reviewed. */
export function changedConcurrently(): ServiceError {
  return new ServiceError(
    'conflict',
    'Something else has changed in the meantime. Review the changes again.',
  );
}

/**
 * Records that the changes made since an encounter was billed are accepted, up to now; does nothing when nothing in the claim has
 * changed. Rejects as `writeBilling` does, and with `conflict` when the encounter was not billed, or has other versions than
 * those reviewed.
 */
export function acknowledgeChanges(
  ports: QueryPorts,
  caller: Caller,
  encounterId: string,
  { reason, version, versions }: Acknowledgement,
): Promise<BillingWritten> {
  return writeBilling(ports, caller, {
    ...{ encounterId, version, eventType: 'BillingChangeAcknowledged' },
    dataFor({ billing, facts, used }) {
      if (billing === undefined) throw notBilled();
      if (versions !== undefined && !isDeepStrictEqual(versions, used)) throw changedConcurrently();
      return changedAfterBilling.check(facts, noSettings).length === 0 ? undefined : { reason };
    },
  });
}

/** A claim that was sent for an encounter. */
interface BilledClaim {
  claim_id: string;
  /** Of the encounter. */
  version?: number | undefined;
}

/** The error for a claim for a void encounter. */
export function billedThoughVoid(): ServiceError {
  return new ServiceError(
    'conflict',
    'The encounter is void and cannot be billed. If it is valid again, set voided_at to null first.',
  );
}

/**
 * Records that an encounter was billed, ready or not, with the versions on which the claim is now based; does nothing when the
 * last claim was the same, with the same versions. Rejects as `writeBilling` does, and with `conflict` when the encounter is
 * void.
 */
export function recordBilled(
  ports: QueryPorts,
  caller: Caller,
  encounterId: string,
  { claim_id, version }: BilledClaim,
): Promise<BillingWritten> {
  return writeBilling(ports, caller, {
    ...{ encounterId, version, eventType: 'EncounterBilled' },
    dataFor({ encounter, billing, used }) {
      if (isVoid(encounter)) throw billedThoughVoid();
      const isKnown = billing?.claimId === claim_id && isDeepStrictEqual(billing.versions, used);
      return isKnown ? undefined : { claim_id };
    },
  });
}
