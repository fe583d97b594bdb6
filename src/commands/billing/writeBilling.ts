import { type FieldMessage, unavailable } from '../../errors.ts';
import type { UsedVersion } from '../../events/encounterReadiness.ts';
import { dataAs, type JsonObject } from '../../events/event.ts';
import { type Caller, newEvent } from '../../events/newEvent.ts';
import { encounterReadinessStream } from '../../events/streamNames.ts';
import { findEarlier } from '../../idempotency/findEarlier.ts';
import { appendBehind } from '../../ports/appendBehind.ts';
import { type BillingState, evolveBilling } from '../../readiness/billing.ts';
import { type Readiness, readReadiness } from '../../readiness/readReadiness.ts';
import type { Rule } from '../../readiness/rule.ts';
import { filingLimitNear } from '../../readiness/rules/dates/filingLimitNear.ts';
import { changedAfterBilling } from '../../readiness/rules/encounter/changedAfterBilling.ts';
import { foldStream } from '../../reads/foldStream.ts';
import type { QueryPorts } from '../../reads/readRecord.ts';
import type { Outcome } from '../../records/judgeChange.ts';
import { conditionNotMet } from '../writeCondition.ts';

/** Something that is to be recorded of an encounter in billing. */
interface BillingWrite {
  encounterId: string;
  /** The version of the encounter that is meant; undefined: whatever it is. */
  version: number | undefined;
  eventType: string;
  /** What the event says; undefined where that is known already. Throws where it cannot be said. */
  dataFor(readiness: Readiness): JsonObject | undefined;
}

/** What became of it. */
export interface BillingWritten {
  /** Of the encounter. */
  version: number;
  /** `created`: it was billed for the first time; `unchanged`: no event was appended. */
  outcome: Outcome;
  /** The versions that count. */
  versions: UsedVersion[];
  /** What readiness finds, by `kind.field`. */
  warnings: FieldMessage[];
}

/**
 * Appends an event to an encounter's `encounterReadinessStream`, by what the log holds. Durable when it resolves. Rejects with `not_found`,
 * `gone`, with `version_conflict` when the encounter is of another version, with `unreadable`, and with `unavailable`, also for as
 * long as an erasure of what had the id before is under way.
 */
export async function writeBilling(
  ports: QueryPorts,
  caller: Caller,
  { encounterId, version, eventType, dataFor }: BillingWrite,
): Promise<BillingWritten> {
  const { eventLog } = ports;
  const { workspace } = caller;
  const stream = encounterReadinessStream(workspace, encounterId);
  const earlier = await findEarlier(eventLog, stream, caller);
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
    // Something else may have been recorded of it meanwhile: then it is decided again.
    if (appended) return written(readiness, outcome, versions);
  }
}

/** What belongs to an erased encounter goes with the stream: nothing new must stand behind it. */
function requireErased(state: BillingState | undefined, begunAt: number): void {
  if (state?.since !== undefined && state.since < begunAt)
    throw unavailable('stream of the encounter that had this id before, which is being erased,');
}

/** What they found is so no more. */
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
