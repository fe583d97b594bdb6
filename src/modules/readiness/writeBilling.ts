import type { UsedVersion } from '../../domain/events/encounterReadiness.ts';
import { dataAs, type JsonObject } from '../../domain/events/event.ts';
import { type Caller, newEvent } from '../../domain/events/newEvent.ts';
import { encounterReadinessStream } from '../../domain/events/streamNames.ts';
import type { Outcome } from '../../domain/records/judgeChange.ts';
import { type FieldMessage, unavailable } from '../../platform/errors.ts';
import { appendBehind } from '../../storage/appendBehind.ts';
import { findEarlier } from '../idempotency/findEarlier.ts';
import { conditionNotMet } from '../records/commands/writeCondition.ts';
import { foldStream } from '../records/queries/foldStream.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import { type BillingState, evolveBilling } from './billing.ts';
import { type Readiness, readReadiness } from './readReadiness.ts';
import { changedAfterBilling } from './rules/changedAfterBilling.ts';
import { filingLimitNear } from './rules/filingLimitNear.ts';
import type { Rule } from './rules/rule.ts';

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
