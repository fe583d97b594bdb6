import { dataAs, type Position, type Principal, type RecordedEvent } from '../../domain/events/event.ts';
import { erasureStep, READINESS_ERASED } from '../../domain/events/payloads.ts';
import type {
  BillingChangeAcknowledged,
  EncounterBilled,
  UsedVersion,
} from '../../domain/events/readinessEvents.ts';
import { encounterReadinessStream, recordStream } from '../../domain/events/streams.ts';
import { upcast } from '../../domain/events/upcasting.ts';
import { evolveRecord, type RecordState } from '../../domain/records/fold.ts';
import type { RecordFields } from '../../domain/records/schema/kind.ts';
import { asUnreadable, UnreadableError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { foldStream } from '../records/queries/records.ts';
import { billedRecord, partsOf, recordKey } from './rules/facts.ts';
import type { BilledVersion, BillingFacts, Claim, FirstBilled } from './rules/rule.ts';

/** Who did something, and when: ISO 8601, UTC. */
interface Done {
  at: string;
  principal: Principal;
}

/** What was billed of an encounter last. */
export interface Billing extends Done {
  claimId: string;
  /** Of the last event on it. */
  position: Position;
  versions: readonly UsedVersion[];
  /** When a claim was first sent to each payer: also of what was billed before. */
  firstBilled: FirstBilled;
  /** That changes since may stay, up to these versions, and why. */
  acknowledged?: Done & { reason: string; versions: readonly UsedVersion[] };
}

/** What became of an encounter in billing, as folded from its `encounterReadinessStream`. */
export interface BillingState {
  /** Of the stream's last event. */
  version: number;
  /** Of the first event since the last erasure; undefined where there is none. */
  since?: Position;
  /** Undefined before it was billed. */
  billing?: Billing;
}

/** The versions that a claim rests on: of those that were billed last, or up to which changes may stay. */
export function versionsOf({ versions, acknowledged }: Billing): readonly UsedVersion[] {
  return acknowledged?.versions ?? versions;
}

/** Who has billed, and acknowledged what changed since. */
export function billingPrincipals(billing: Billing | undefined): Principal[] {
  return [billing, billing?.acknowledged].flatMap((one) => one?.principal ?? []);
}

/**
 * Folds the next event of an encounter's `encounterReadinessStream`; the state before stays as it is, and types of events that say
 * nothing of billing leave what was billed as it was. Throws an `UnreadableError`.
 */
export function evolveBilling(state: BillingState | undefined, event: RecordedEvent): BillingState {
  const version = event.revision + 1;
  if (event.type === READINESS_ERASED) {
    return erasureStep(upcast(event)) === 'done' ? { version } : { ...state, version };
  }
  const next = { ...state, version, since: state?.since ?? event.position };
  const done = { at: event.recordedAt, principal: event.metadata.principal };
  if (event.type === 'EncounterBilled') {
    const { claim_id: claimId, versions } = dataAs<EncounterBilled>(upcast(event).data);
    const firstBilled = withBilled(state?.billing?.firstBilled, versions, Date.parse(done.at));
    const { position } = event;
    return { ...next, billing: { ...done, claimId, position, versions, firstBilled } };
  }
  if (event.type === 'BillingChangeAcknowledged' && state?.billing) {
    const { reason, versions } = dataAs<BillingChangeAcknowledged>(upcast(event).data);
    const { position } = event;
    return { ...next, billing: { ...state.billing, position, acknowledged: { ...done, reason, versions } } };
  }
  return next;
}

function withBilled(
  before: FirstBilled = new Map(),
  versions: readonly UsedVersion[],
  at: number,
): FirstBilled {
  const payer = versions.find(({ part }) => part === 'payer');
  return payer === undefined || before.has(payer.id) ? before : new Map([...before, [payer.id, at]]);
}

/**
 * The versions that were billed of some encounters of a workspace, with what stood in them. The log is asked for those alone that are no longer
 * the present ones, and once for each of them.
 */
class BilledVersions {
  readonly #eventLog: EventLog;
  readonly #workspace: string;
  readonly #read = new Map<string, Promise<RecordFields | undefined>>();

  constructor(eventLog: EventLog, workspace: string) {
    this.#eventLog = eventLog;
    this.#workspace = workspace;
  }

  /**
   * Of one encounter. Without fields is what was erased, and what is no part of it any more: the field tells that names another record. Rejects
   * with `unavailable`, `unreadable`.
   */
  of(billing: Billing, facts: BillingFacts): Promise<BilledVersion[]> {
    const present = [...Object.values(partsOf(facts)), ...(facts.merged ?? [])];
    const versions = new Map(
      present.flatMap((record) => (record ? [[recordKey(record.kind, record.id), record]] : [])),
    );
    return Promise.all(
      versionsOf(billing).map(async (used) => {
        const record = versions.get(recordKey(used.kind, used.id));
        const isPresent = record?.version === used.version;
        const fields = isPresent || record === undefined ? record?.fields : await this.#fieldsOf(used);
        return { ...used, fields };
      }),
    );
  }

  #fieldsOf({ kind, id, version }: UsedVersion): Promise<RecordFields | undefined> {
    const key = `${version}-${recordKey(kind, id)}`;
    const reading = this.#read.get(key) ?? this.#fold(kind, id, version);
    this.#read.set(key, reading);
    return reading;
  }

  async #fold(kind: string, id: string, version: number): Promise<RecordFields | undefined> {
    const stream = recordStream(this.#workspace, kind, id);
    const evolve = (state: RecordState | undefined, event: RecordedEvent) => evolveRecord(kind, state, event);
    const state = await foldStream(this.#eventLog, stream, evolve, { version });
    return state?.version === version ? billedRecord(state, id)?.fields : undefined;
  }
}

const AT_ONCE = 50;

/** Returns the last claim of what was billed. */
export function claimOf({ claimId, at }: Billing): Claim {
  return { id: claimId, at };
}

/** What rules look at of what was billed, and where in the log the last billing event is. */
interface BilledFacts extends Required<Pick<BillingFacts, 'claim' | 'billed' | 'firstBilled'>> {
  position: Position;
}

/** Reads something about each of some encounters, many at once; resolves with it by their ids, without those of which there is nothing. */
async function readEach<Result extends object>(
  encounterIds: readonly string[],
  read: (id: string) => Promise<Result | undefined>,
): Promise<Map<string, Result | UnreadableError>> {
  const found = new Map<string, Result | UnreadableError>();
  const look = async (id: string) => {
    const result = await read(id).catch(asUnreadable);
    if (result !== undefined) found.set(id, result);
  };
  for (let at = 0; at < encounterIds.length; at += AT_ONCE) {
    await Promise.all(encounterIds.slice(at, at + AT_ONCE).map(look));
  }
  return found;
}

async function billingOf(
  eventLog: EventLog,
  workspace: string,
  encounterId: string,
): Promise<Billing | undefined> {
  const stream = encounterReadinessStream(workspace, encounterId);
  return (await foldStream(eventLog, stream, evolveBilling))?.billing;
}

/**
 * Resolves with what was billed for encounters, by their ids and according to the log: nothing for one that was not
 * billed, and an error for one that cannot be read. Rejects with `unavailable`.
 */
export function readBilling(
  eventLog: EventLog,
  workspace: string,
  encounters: readonly BillingFacts[],
): Promise<Map<string, BilledFacts | UnreadableError>> {
  const versions = new BilledVersions(eventLog, workspace);
  const factsById = new Map(encounters.map((facts) => [facts.encounter.id, facts]));
  return readEach([...factsById.keys()], async (id) => {
    const billing = await billingOf(eventLog, workspace, id);
    if (billing === undefined) return undefined;
    const { firstBilled, position } = billing;
    const billed = await versions.of(billing, factsById.get(id) as BillingFacts);
    return { claim: claimOf(billing), billed, firstBilled, position };
  });
}

/**
 * Resolves with the last claims of encounters, by their ids and according to the log; without those that were not billed, or whose
 * billing cannot be read. Rejects with `unavailable`.
 */
export async function readClaims(
  eventLog: EventLog,
  workspace: string,
  encounterIds: readonly string[],
): Promise<Map<string, Claim>> {
  const found = await readEach(encounterIds, (id) => billingOf(eventLog, workspace, id));
  return new Map(
    [...found].flatMap(([id, billing]) =>
      billing instanceof UnreadableError ? [] : [[id, claimOf(billing)] as const],
    ),
  );
}
