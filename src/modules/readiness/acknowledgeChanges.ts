import { isDeepStrictEqual } from 'node:util';
import type { UsedVersion } from '../../domain/events/encounterReadiness.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import { changedAfterBilling } from './rules/changedAfterBilling.ts';
import { noSettings } from './rules/ruleSettings.ts';
import { type BillingWritten, writeBilling } from './writeBilling.ts';

/** Accepts changes made after billing. */
export interface Acknowledgement {
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
export function changedMeanwhile(): ServiceError {
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
      if (versions !== undefined && !isDeepStrictEqual(versions, used)) throw changedMeanwhile();
      return changedAfterBilling.check(facts, noSettings).length === 0 ? undefined : { reason };
    },
  });
}
