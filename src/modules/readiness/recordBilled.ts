import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '../../domain/events/newEvent.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import { isVoid } from './rules/faults.ts';
import { type BillingWritten, writeBilling } from './writeBilling.ts';

/** A claim that was sent for an encounter. */
export interface BilledClaim {
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
