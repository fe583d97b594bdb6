import { ServiceError } from '../../errors.ts';
import type { Caller } from '../../events/newEvent.ts';
import { noSettings } from '../../readiness/ruleSettings.ts';
import { changedAfterBilling } from '../../readiness/rules/changedAfterBilling.ts';
import type { QueryPorts } from '../../reads/readRecord.ts';
import { type BillingWritten, writeBilling } from './writeBilling.ts';

/** That changes after billing may stay as they are. */
export interface Acknowledgement {
  reason: string;
  /** Of the encounter. */
  version?: number | undefined;
}

/** The refusal of an acknowledgement where nothing was billed. */
export function notBilled(): ServiceError {
  return new ServiceError('conflict', 'The encounter has not been billed: there is nothing to acknowledge.');
}

/**
 * Records that what has changed since an encounter was billed may stay, up to now; nothing where nothing that a claim carries has changed.
 * Rejects as `writeBilling` does, and with `conflict` where it was not billed.
 */
export function acknowledgeChanges(
  ports: QueryPorts,
  caller: Caller,
  encounterId: string,
  { reason, version }: Acknowledgement,
): Promise<BillingWritten> {
  return writeBilling(ports, caller, {
    ...{ encounterId, version, eventType: 'BillingChangeAcknowledged' },
    dataFor({ billing, facts }) {
      if (billing === undefined) throw notBilled();
      return changedAfterBilling.check(facts, noSettings).length === 0 ? undefined : { reason };
    },
  });
}
