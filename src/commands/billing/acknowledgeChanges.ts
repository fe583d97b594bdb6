import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '../../errors.ts';
import type { UsedVersion } from '../../events/encounterReadiness.ts';
import type { Caller } from '../../events/newEvent.ts';
import { noSettings } from '../../readiness/ruleSettings.ts';
import { changedAfterBilling } from '../../readiness/rules/encounter/changedAfterBilling.ts';
import type { QueryPorts } from '../../reads/readRecord.ts';
import { type BillingWritten, writeBilling } from './writeBilling.ts';

/** That changes after billing may stay as they are. */
export interface Acknowledgement {
  reason: string;
  /** Of the encounter. */
  version?: number | undefined;
  /** The versions of all that a claim carries that were looked at; undefined: whatever they are. */
  versions?: readonly UsedVersion[] | undefined;
}

/** The refusal of an acknowledgement where nothing was billed. */
export function notBilled(): ServiceError {
  return new ServiceError(
    'conflict',
    'The encounter has not been billed, so there is nothing to acknowledge.',
  );
}

/** The refusal where it is no longer what was looked at. */
export function changedMeanwhile(): ServiceError {
  return new ServiceError(
    'conflict',
    'Something else has changed in the meantime. Review the changes again.',
  );
}

/**
 * Records that what has changed since an encounter was billed may stay, up to now; nothing where nothing that a claim carries has changed.
 * Rejects as `writeBilling` does, and with `conflict` where it was not billed, or is of other versions than those that were looked at.
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
