import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '../../events/newEvent.ts';
import type { QueryPorts } from '../../reads/readRecord.ts';
import { type BillingWritten, writeBilling } from './writeBilling.ts';

/** A claim for an encounter that was sent. */
export interface BilledClaim {
  claim_id: string;
  /** Of the encounter. */
  version?: number | undefined;
}

/**
 * Records that an encounter was billed, ready or not, with the versions on which the claim rests now; nothing where the last claim was the
 * same, of the same versions. Rejects as `writeBilling` does.
 */
export function recordBilled(
  ports: QueryPorts,
  caller: Caller,
  encounterId: string,
  { claim_id, version }: BilledClaim,
): Promise<BillingWritten> {
  return writeBilling(ports, caller, {
    ...{ encounterId, version, eventType: 'EncounterBilled' },
    dataFor({ billing, used }) {
      const isKnown = billing?.claimId === claim_id && isDeepStrictEqual(billing.versions, used);
      return isKnown ? undefined : { claim_id };
    },
  });
}
