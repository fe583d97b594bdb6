import { asUnreadable, type UnreadableError } from '../errors.ts';
import { encounterReadinessStream } from '../events/streamNames.ts';
import type { EventLog } from '../ports/eventLog.ts';
import { foldStream } from '../reads/foldStream.ts';
import { type Billing, evolveBilling } from './billing.ts';
import { type FilingLimits, filingEnd } from './filingLimits.ts';
import type { BillingFacts } from './rule.ts';

const AT_ONCE = 50;

/**
 * What was billed of encounters, by their ids and by what the log has; only of those for which a filing limit holds, and an error for
 * one that cannot be read. Rejects with `unavailable`.
 */
export async function readBilling(
  eventLog: EventLog,
  workspace: string,
  encounters: readonly BillingFacts[],
  limits: FilingLimits,
): Promise<Map<string, Billing | UnreadableError>> {
  const wanted = encounters.filter((facts) => filingEnd(facts, limits) !== undefined);
  const found = new Map<string, Billing | UnreadableError>();
  const look = async ({ encounter: { id } }: BillingFacts) => {
    const stream = encounterReadinessStream(workspace, id);
    const state = await foldStream(eventLog, stream, evolveBilling).catch(asUnreadable);
    if (state instanceof Error) found.set(id, state);
    else if (state?.billing) found.set(id, state.billing);
  };
  for (let at = 0; at < wanted.length; at += AT_ONCE) {
    await Promise.all(wanted.slice(at, at + AT_ONCE).map(look));
  }
  return found;
}
