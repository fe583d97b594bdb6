import { isDeepStrictEqual } from 'node:util';
import { dataAs, type JsonObject } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import type { ClaimAnswer, UsedVersion } from '../../domain/events/readinessEvents.ts';
import type { Outcome } from '../../domain/records/fold.ts';
import { type FieldMessage, ServiceError } from '../../platform/errors.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import { writeOnEncounter } from './encounterWrites.ts';
import type { Readiness } from './queries.ts';
import { filingLimitNear } from './rules/dates.ts';
import { changedAfterBilling } from './rules/encounter.ts';
import { isVoid, noSettings, type Rule } from './rules/rule.ts';

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

/** Something to record about an encounter's billing; the versions on which a claim is now based are added. */
type BillingWrite = Parameters<typeof writeOnEncounter>[2];

/** Records it. Rejects as `writeOnEncounter` does. */
async function writeBilling(
  ports: QueryPorts,
  caller: Caller,
  { dataFor, ...write }: BillingWrite,
): Promise<BillingWritten> {
  const { readiness, before, data } = await writeOnEncounter(ports, caller, {
    ...write,
    dataFor(readiness, before) {
      const data = dataFor(readiness, before);
      return data && { versions: readiness.used as unknown as JsonObject[], ...data };
    },
  });
  if (data === undefined) return written(readiness, 'unchanged', readiness.used);
  const outcome = before?.billing === undefined ? 'created' : 'updated';
  return written(readiness, outcome, dataAs<{ versions: UsedVersion[] }>(data).versions);
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
 * changed. Rejects as `writeOnEncounter` does, and with `conflict` when the encounter was not billed, or has other versions than
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
 * last claim was the same, with the same versions. Rejects as `writeOnEncounter` does, and with `conflict` when the encounter is
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

/** The error for the outcome of a claim that was not reported. */
export function unknownClaim(): ServiceError {
  return new ServiceError('not_found', 'The encounter was not billed with a claim of this id.');
}

/**
 * Records what became of a claim that was sent for an encounter: the last one, or one before it; does nothing when that is what was
 * reported of it last. Rejects as `writeOnEncounter` does, and with `not_found` when there is no such claim.
 */
export async function reportOutcome(
  ports: QueryPorts,
  caller: Caller,
  encounterId: string,
  claimId: string,
  answer: ClaimAnswer,
): Promise<{ version: number; outcome: Outcome }> {
  const { readiness, before, data } = await writeOnEncounter(ports, caller, {
    ...{ encounterId, eventType: 'ClaimOutcomeReported' },
    dataFor({ billing }, state) {
      const isLast = billing?.claimId === claimId;
      if (!isLast && !billing?.formerClaims?.includes(claimId)) throw unknownClaim();
      const known = isLast ? billing.outcome : state?.formerOutcomes?.get(claimId);
      const { at: _at, principal: _by, ...same } = known ?? {};
      return isDeepStrictEqual(same, answer) ? undefined : { claim_id: claimId, ...(answer as object) };
    },
  });
  const { version } = readiness.encounter;
  if (data === undefined) return { version, outcome: 'unchanged' };
  const isKnown = before?.billing?.claimId === claimId && before.billing.outcome !== undefined;
  return { version, outcome: isKnown || before?.formerOutcomes?.has(claimId) ? 'updated' : 'created' };
}
