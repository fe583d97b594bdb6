import type { Position } from '../../domain/events/event.ts';
import { encounterReadinessStream } from '../../domain/events/streamNames.ts';
import { asUnreadable, type UnreadableError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { foldStream } from '../records/queries/foldStream.ts';
import { BilledVersions } from './BilledVersions.ts';
import { evolveBilling } from './billing.ts';
import type { BillingFacts } from './rules/rule.ts';

const AT_ONCE = 50;

/** What rules look at of what was billed, and where in the log the last billing event is. */
export interface BilledFacts extends Required<Pick<BillingFacts, 'billed' | 'firstBilled'>> {
  position: Position;
}

/**
 * Resolves with what was billed for encounters, by their ids and according to the log: nothing for one that was not
 * billed, and an error for one that cannot be read. Rejects with `unavailable`.
 */
export async function readBilling(
  eventLog: EventLog,
  workspace: string,
  encounters: readonly BillingFacts[],
): Promise<Map<string, BilledFacts | UnreadableError>> {
  const found = new Map<string, BilledFacts | UnreadableError>();
  const versions = new BilledVersions(eventLog, workspace);
  const read = async (facts: BillingFacts): Promise<BilledFacts | undefined> => {
    const stream = encounterReadinessStream(workspace, facts.encounter.id);
    const billing = (await foldStream(eventLog, stream, evolveBilling))?.billing;
    if (billing === undefined) return undefined;
    const { firstBilled, position } = billing;
    return { billed: await versions.of(billing, facts), firstBilled, position };
  };
  const look = async (facts: BillingFacts) => {
    const billed = await read(facts).catch(asUnreadable);
    if (billed !== undefined) found.set(facts.encounter.id, billed);
  };
  for (let at = 0; at < encounters.length; at += AT_ONCE) {
    await Promise.all(encounters.slice(at, at + AT_ONCE).map(look));
  }
  return found;
}
