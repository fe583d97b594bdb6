import { dataAs, type Position, type Principal, type RecordedEvent } from '../../domain/events/event.ts';
import { erasureStep, READINESS_ERASED } from '../../domain/events/payloads.ts';
import type {
  BillingChangeAcknowledged,
  ClaimAnswer,
  ClaimOutcomeReported,
  EncounterBilled,
  FindingAnswered,
  UsedVersion,
} from '../../domain/events/readinessEvents.ts';
import { encounterReadinessStream, recordStream } from '../../domain/events/streams.ts';
import { upcast } from '../../domain/events/upcasting.ts';
import { evolveRecord, type RecordState } from '../../domain/records/fold.ts';
import type { RecordFields } from '../../domain/records/schema/kind.ts';
import { asUnreadable, UnreadableError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { foldStream } from '../records/queries/records.ts';
import { type AllAnswers, answerKey, type FindingAnswers } from './rules/answers.ts';
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
  /** What was reported of this claim last, since it was sent. */
  outcome?: ReportedOutcome;
  /** The ids of the claims that were sent before; left out for none. */
  formerClaims?: readonly string[];
}

/** What became of a claim, and who reported it when. */
export type ReportedOutcome = Done & ClaimAnswer;

/** What became of an encounter in billing, and what was answered to its findings, as folded from its `encounterReadinessStream`. */
export interface BillingState {
  /** Of the stream's last event. */
  version: number;
  /** Of the first event since the last erasure; undefined where there is none. */
  since?: Position;
  /** Undefined before it was billed. */
  billing?: Billing;
  /** Undefined before anything was answered. */
  answers?: AllAnswers;
  /** What was reported last of claims that were sent before the last one, by their ids; left out for none. */
  formerOutcomes?: ReadonlyMap<string, ReportedOutcome>;
  /** Of the last event with an answer. */
  answeredAt?: Position;
}

/** The versions that a claim rests on: of those that were billed last, or up to which changes may stay. */
export function versionsOf({ versions, acknowledged }: Billing): readonly UsedVersion[] {
  return acknowledged?.versions ?? versions;
}

/** Who has billed, and acknowledged what changed since. */
export function billingPrincipals(billing: Billing | undefined): Principal[] {
  return [billing, billing?.acknowledged, billing?.outcome].flatMap((one) => one?.principal ?? []);
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
    const formerClaims = formerOf(state?.billing, claimId);
    const billing = { ...done, claimId, position, versions, firstBilled };
    return { ...next, billing: { ...billing, ...(formerClaims.length > 0 && { formerClaims }) } };
  }
  if (event.type === 'BillingChangeAcknowledged' && state?.billing) {
    const { reason, versions } = dataAs<BillingChangeAcknowledged>(upcast(event).data);
    const { position } = event;
    return { ...next, billing: { ...state.billing, position, acknowledged: { ...done, reason, versions } } };
  }
  if (event.type === 'ClaimOutcomeReported' && state?.billing) {
    const { claim_id, encounter_id: _, ...answer } = dataAs<ClaimOutcomeReported>(upcast(event).data);
    const outcome = { ...done, ...answer };
    if (claim_id === state.billing.claimId) {
      return { ...next, billing: withOutcome(state.billing, outcome, event.position) };
    }
    return { ...next, formerOutcomes: new Map([...(state.formerOutcomes ?? []), [claim_id, outcome]]) };
  }
  if (event.type === 'FindingAnswered') {
    const answers = withAnswer(state?.answers, dataAs<FindingAnswered>(upcast(event).data), done);
    return { ...next, answers, answeredAt: event.position };
  }
  return next;
}

/** What is sent again under its id is no former claim. */
function formerOf(before: Billing | undefined, claimId: string): string[] {
  if (before === undefined) return [];
  return [...new Set([...(before.formerClaims ?? []), before.claimId])].filter((id) => id !== claimId);
}

/** A claim that was rejected does not count as filed: the payer has not got it. */
function withOutcome(billing: Billing, outcome: ReportedOutcome, position: Position): Billing {
  const payer = billing.versions.find(({ part }) => part === 'payer');
  const isFirst = payer !== undefined && billing.firstBilled.get(payer.id) === Date.parse(billing.at);
  const firstBilled = new Map(billing.firstBilled);
  if (isFirst && outcome.outcome === 'rejected') firstBilled.delete(payer.id);
  return { ...billing, position, firstBilled, outcome };
}

function withAnswer(
  before: AllAnswers = new Map(),
  { rule, record, answer, reason = '', until = '', assigned_to: to, note = '' }: FindingAnswered,
  done: Done,
): AllAnswers {
  const key = answerKey(rule, record);
  const { accepted, snoozed, ...others } = before.get(key) ?? {};
  const { assigned: _, ...unassigned } = { ...before.get(key) };
  const { version } = record;
  const after: Record<FindingAnswered['answer'], FindingAnswers> = {
    accepted: { ...others, ...(snoozed && { snoozed }), accepted: { ...done, version, until, reason } },
    snoozed: { ...others, ...(accepted && { accepted }), snoozed: { ...done, version, until } },
    assigned: { ...unassigned, ...(typeof to === 'string' && { assigned: { ...done, to } }) },
    noted: { ...before.get(key), noted: { ...done, version, note } },
    reopened: others,
  };
  return new Map([...before, [key, after[answer]]]);
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
export function claimOf({ claimId, at, outcome }: Billing): Claim {
  const number = outcome?.payer_claim_number;
  const known = outcome && { outcome: outcome.outcome, ...(number !== undefined && { number }) };
  return { id: claimId, at, ...known };
}

/** What evaluations look at of what was billed and answered, and where in the log the last event on it is. */
interface BilledFacts extends Pick<BillingFacts, 'claim' | 'billed' | 'firstBilled' | 'answers'> {
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

function billingStateOf(
  eventLog: EventLog,
  workspace: string,
  encounterId: string,
): Promise<BillingState | undefined> {
  return foldStream(eventLog, encounterReadinessStream(workspace, encounterId), evolveBilling);
}

/**
 * Resolves with what was billed and answered for encounters, by their ids and according to the log: nothing for one without
 * either, and an error for one that cannot be read. Rejects with `unavailable`.
 */
export function readBilling(
  eventLog: EventLog,
  workspace: string,
  encounters: readonly BillingFacts[],
): Promise<Map<string, BilledFacts | UnreadableError>> {
  const versions = new BilledVersions(eventLog, workspace);
  const factsById = new Map(encounters.map((facts) => [facts.encounter.id, facts]));
  return readEach([...factsById.keys()], async (id) => {
    const { billing, answers, answeredAt = 0 } = (await billingStateOf(eventLog, workspace, id)) ?? {};
    if (billing === undefined) return answers && { answers, position: answeredAt };
    const { firstBilled, position } = billing;
    const billed = await versions.of(billing, factsById.get(id) as BillingFacts);
    return {
      claim: claimOf(billing),
      billed,
      firstBilled,
      answers,
      position: Math.max(position, answeredAt),
    };
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
  const found = await readEach(
    encounterIds,
    async (id) => (await billingStateOf(eventLog, workspace, id))?.billing,
  );
  return new Map(
    [...found].flatMap(([id, billing]) =>
      billing instanceof UnreadableError ? [] : [[id, claimOf(billing)] as const],
    ),
  );
}
