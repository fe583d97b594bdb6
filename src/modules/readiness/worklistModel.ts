import { createHash } from 'node:crypto';
import { z } from 'zod';
import { readinessModel } from '../../../projections/projection.ts';
import type { Position } from '../../domain/events/event.ts';
import { type ReadinessState, readinessStates } from '../../domain/events/readinessEvents.ts';
import { recordStream } from '../../domain/events/streams.ts';
import type { ModelName, ReadModels, Row } from '../../storage/readModels.ts';
import type { Evaluation } from './evaluate.ts';
import type { FilingLimit } from './rules/filingLimits.ts';
import { appliesAt, type Finding, readinessState, ruleOf, rulesDigest } from './rules/index.ts';
import {
  type Claim,
  dayOf,
  type Owner,
  ownerOf,
  type RuleSettings,
  ranks,
  type Severity,
  textOf,
} from './rules/rule.ts';

/** What is written at once, as a row of its own, so that it can be completed. */
interface LastWrite {
  rows: Row[];
  checkpoint: Position;
}

const lastWriteModel = readinessModel as ModelName<LastWrite>;
const LAST_WRITE = 'last write';

/**
 * Writes the rows of the worklist; there must be only one writer. Counts are increments on what was there: if they
 * were written without the encounters, or the other way round, they would be wrong for good. A store need not have
 * transactions, so each write is noted as a whole before it is made, and an interrupted one is completed when the
 * next writer opens.
 */
export class WorklistRows {
  readonly #readModels: ReadModels;
  #place: Position;

  private constructor(readModels: ReadModels, place: Position) {
    this.#readModels = readModels;
    this.#place = place;
  }

  /** Completes the last write. Rejects with `unavailable`, and with `conflict` as `ReadModels.write` does. */
  static async open(readModels: ReadModels): Promise<WorklistRows> {
    const [last] = await readModels.load(lastWriteModel, [LAST_WRITE]);
    if (last) await readModels.write({ model: readinessModel, ...last.body });
    return new WorklistRows(readModels, last?.position ?? 0);
  }

  /** Writes rows, all or none, then the checkpoint; 0 leaves it as it is. */
  async write(rows: Row[], checkpoint: Position = 0): Promise<void> {
    this.#place += 1;
    const note = { id: LAST_WRITE, partition: LAST_WRITE, order: 0, position: this.#place };
    await this.#readModels.write(
      ...(rows.length === 0
        ? []
        : [{ model: readinessModel, rows: [{ ...note, body: { rows, checkpoint } }], checkpoint: 0 }]),
      { model: readinessModel, rows, checkpoint },
    );
  }
}

/**
 * Returns the version of the rules applied: the same text for as long as neither the rules nor a workspace's settings
 * for them change.
 */
export function rulesVersion(settings: RuleSettings): string {
  const {
    choices,
    filingLimits,
    requiredDocuments,
    codeSetVersions = new Map(),
    billingEntities,
    timeZone,
  } = settings;
  const { payerChoices = new Map(), payerRules = new Map() } = settings;
  const sorted = <Value>(map: ReadonlyMap<string, Value>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = [
    ...[sorted(choices), filingLimits.default ?? null, sorted(filingLimits.byPayer)],
    ...[sorted(filingLimits.byType), billingEntities.default ?? null, sorted(billingEntities.byFacility)],
    ...[
      sorted(requiredDocuments),
      timeZone,
      sorted(codeSetVersions),
      rulesDigest,
      sorted(payerChoices),
      sorted(payerRules),
    ],
  ];
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 12);
  return `${readinessModel}.${digest}`;
}

const day = z.iso.date().optional();

/** First and last day of service, such as `2026-03-14`; as the date was sent. */
export const serviceDaysSchema = z.object({ from: day, to: day });
export type ServiceDays = z.infer<typeof serviceDaysSchema>;

/**
 * Whether an encounter's service was within a range of days; one without a date is within any range without a first
 * day.
 */
export function isWithin({ date_of_service }: WorklistEntry, { from = '', to = '9999-12-31' }: ServiceDays) {
  const day = date_of_service === undefined ? '' : dayOf(date_of_service);
  return day >= from && day <= to;
}

/** A finding in the worklist: where it is, without a text. */
export interface WorklistFinding {
  rule: string;
  severity: Severity;
  /** Of the record at fault. */
  kind: string;
  id: string;
  /** Dotted when nested. */
  field: string;
  /** What holds of the answers to it; the last day each, such as `2026-03-14`. */
  accepted_until?: string;
  snoozed_until?: string;
  assigned_to?: string;
  is_noted?: true;
}

/** An encounter's state when it was evaluated, and what it is found by. */
export interface WorklistEntry {
  encounter_id: string;
  patient_id?: string | undefined;
  /** The other patients on whom it depends, because they and that one were merged. */
  merged_patient_ids?: string[];
  payer_id?: string | undefined;
  /** Of the secondary and tertiary insurance. */
  other_payer_ids?: string[];
  facility_id?: string | undefined;
  provider_id?: string | undefined;
  rendering_provider_id?: string | undefined;
  date_of_service?: string | undefined;
  state: ReadinessState;
  findings: WorklistFinding[];
  /** The last claim that was sent for it: what it depends on is then compared with what was billed. */
  billed?: Claim;
  /** Something was once answered to a finding: the log says what. */
  has_answers?: true;
  /** Until when the payer takes a claim, where a filing limit applies. */
  filing?: { limit: FilingLimit; last_day: string };
  /** When the next finding begins or ends by itself, in milliseconds since 1970. */
  flips_at?: number;
}

/** The body for an encounter about which nothing is reported: it was erased, or cannot be read. */
type Nothing = Record<never, never>;

/** The body for any other encounter. */
interface EntryBody extends WorklistEntry {
  /**
   * Revision of the last event in the encounter's readiness stream, if its last announcement is of this state and these findings; left
   * out where that is not known.
   */
  announced_at?: number;
}

export const worklistModel = readinessModel as ModelName<EntryBody | Nothing>;

type WorklistRow = Row<EntryBody | Nothing>;

/** Returns what a row says about its encounter; undefined where that is nothing. */
export function entryOf(row: WorklistRow | undefined): WorklistEntry | undefined {
  if (row === undefined || !('state' in row.body)) return undefined;
  const { announced_at: _, ...entry } = row.body;
  return entry;
}

/** Whether something was billed for an encounter, or answered to its findings: the log says what. */
export function mayBeBilled({ billed, has_answers }: WorklistEntry): boolean {
  return billed !== undefined || has_answers === true;
}

/**
 * Resolves with those of some encounters, by their ids, for which the worklist says that something was billed or answered. Rejects
 * with `unavailable`.
 */
export async function billedAmong(
  readModels: ReadModels,
  workspace: string,
  encounterIds: readonly string[],
): Promise<Set<string>> {
  if (encounterIds.length === 0) return new Set();
  const streams = encounterIds.map((id) => recordStream(workspace, 'encounter', id));
  const rows = await readModels.load(worklistModel, streams);
  return new Set(
    rows.map(entryOf).flatMap((entry) => (entry && mayBeBilled(entry) ? entry.encounter_id : [])),
  );
}

/** Returns `announced_at` of a row; undefined where it has none. */
export function announcedAt(row: WorklistRow | undefined): number | undefined {
  return row !== undefined && 'state' in row.body ? row.body.announced_at : undefined;
}

/** Returns an encounter's state at a moment, in milliseconds since 1970. */
export function worklistEntry(
  { facts, findings, filing }: Pick<Evaluation, 'facts' | 'findings' | 'filing'>,
  now: number,
): WorklistEntry {
  const { encounter, patient, merged = [] } = facts;
  const named = textOf(encounter, 'patient_id');
  const others = [...merged.map(({ id }) => id), ...(patient ? [patient.id] : [])].filter(
    (id) => id !== named,
  );
  const [payerId, ...otherIds] = ranks.map((rank) => textOf(patient, `${rank}.payer_id`));
  const otherPayers = [...new Set(otherIds)].filter((id) => id !== undefined && id !== payerId);
  const standing = findings.filter((finding) => appliesAt(finding, now));
  const flips = findings
    .flatMap(({ from = 0, until = 0, answer }) => [
      ...[from, until, answer?.acceptedUntil?.end ?? 0, answer?.snoozedUntil?.end ?? 0],
    ])
    .filter((at) => at > now);
  return {
    encounter_id: encounter.id,
    patient_id: named,
    ...(others.length > 0 && { merged_patient_ids: others }),
    payer_id: payerId,
    ...(otherPayers.length > 0 && { other_payer_ids: otherPayers as string[] }),
    facility_id: textOf(encounter, 'facility_id'),
    provider_id: textOf(encounter, 'provider_id'),
    rendering_provider_id: textOf(encounter, 'rendering_provider_id'),
    date_of_service: textOf(encounter, 'date_of_service'),
    state: readinessState(facts, standing, now),
    findings: standing.map((finding) => toWorklist(finding, now)),
    ...(facts.claim !== undefined && { billed: facts.claim }),
    ...(facts.answers !== undefined && { has_answers: true }),
    ...(filing && { filing: { limit: filing.limit, last_day: filing.lastDay } }),
    ...(flips.length > 0 && { flips_at: Math.min(...flips) }),
  };
}

function toWorklist({ rule, severity, record, field, answer }: Finding, now: number): WorklistFinding {
  const { acceptedUntil, snoozedUntil, assignedTo, isNoted } = answer ?? {};
  return {
    ...{ rule: rule.code, severity, kind: record.kind, id: record.id, field },
    ...(acceptedUntil && acceptedUntil.end > now && { accepted_until: acceptedUntil.day }),
    ...(snoozedUntil && snoozedUntil.end > now && { snoozed_until: snoozedUntil.day }),
    ...(assignedTo !== undefined && { assigned_to: assignedTo }),
    ...(isNoted && { is_noted: isNoted }),
  };
}

/** Whether somebody has dealt with a finding. */
export function isAnswered(finding: WorklistFinding): boolean {
  const { accepted_until, snoozed_until, assigned_to, is_noted } = finding;
  return [accepted_until, snoozed_until, assigned_to, is_noted].some((one) => one !== undefined);
}

/** Whether a finding blocks: not while it is accepted. */
export function isBlocking({ severity, accepted_until }: WorklistFinding): boolean {
  return severity === 'blocks' && accepted_until === undefined;
}

/** Returns who puts a finding right. */
export function ownerOfFinding({ rule, kind }: WorklistFinding): Owner {
  return ownerOf(ruleOf(rule), kind);
}

/** Returns the codes of the rules that found something, without duplicates. */
export function codesOf({ findings }: WorklistEntry): string[] {
  return [...new Set(findings.map(({ rule }) => rule))];
}

/** Returns a row with `announced_at`, if its encounter is among those announced, which are given by their ids. */
export function withAnnouncement(row: Row, announced: ReadonlyMap<string, number>): Row {
  const entry = entryOf(row);
  const at = entry && announced.get(entry.encounter_id);
  return at === undefined ? row : { ...row, body: { ...entry, announced_at: at } };
}

/** Whether two entries differ in nothing that is announced. */
export function isAnnouncedAlike(one: WorklistEntry, other: WorklistEntry): boolean {
  return one.state === other.state && finds(one, codesOf(other));
}

/** Whether the rules that find something are exactly these, in any order. */
export function finds(entry: WorklistEntry, codes: readonly string[] | undefined): boolean {
  const own = codesOf(entry);
  return codes !== undefined && own.length === codes.length && own.every((code) => codes.includes(code));
}

/** A filter of the worklist, besides the state. */
export type WorklistFilter = {
  by:
    | 'rule'
    | 'owner'
    | 'payer'
    | 'facility'
    | 'provider'
    | 'day'
    | 'billed'
    | 'assigned'
    | 'answered'
    | 'due';
  value: string;
};

/** Where no filing limit applies. */
export const NOT_DUE = 'none';

export const MINUTE_MS = 60_000;

/** Returns the partition that lists the encounters of a workspace. */
export function worklistPartition(workspace: string): string {
  return `${workspace}.encounter`;
}

/** Returns the list of the encounters in a state, or of those of them that match a filter. */
export function listOf(state: ReadinessState, filter?: WorklistFilter): string {
  return filter === undefined ? state : `${state} ${filter.by}=${filter.value}`;
}

/** Returns the filters that an encounter matches. */
export function filtersOf(entry: WorklistEntry): WorklistFilter[] {
  const { payer_id, facility_id, provider_id, date_of_service, billed, filing, findings } = entry;
  const filters: { by: WorklistFilter['by']; value: string | undefined }[] = [
    ...codesOf(entry).map((value) => ({ by: 'rule', value }) as const),
    ...[...new Set(findings.map(ownerOfFinding))].map((value) => ({ by: 'owner', value }) as const),
    { by: 'payer', value: payer_id },
    { by: 'facility', value: facility_id },
    { by: 'provider', value: provider_id },
    { by: 'day', value: date_of_service && dayOf(date_of_service) },
    { by: 'billed', value: String(billed !== undefined) },
    ...assignees(entry).map((value) => ({ by: 'assigned', value }) as const),
    // Without findings there is nothing to answer.
    { by: 'answered', value: findings.length > 0 ? String(findings.every(isAnswered)) : undefined },
    { by: 'due', value: filing?.last_day ?? NOT_DUE },
  ];
  return filters.filter((one): one is WorklistFilter => one.value !== undefined);
}

/** Returns to whom findings are assigned, without duplicates. */
function assignees({ findings }: WorklistEntry): string[] {
  return [...new Set(findings.flatMap(({ assigned_to }) => assigned_to ?? []))];
}

/** Returns all lists that an encounter is on. */
export function listsOf(entry: WorklistEntry): string[] {
  const { state, patient_id, merged_patient_ids = [], other_payer_ids = [] } = entry;
  const { provider_id, rendering_provider_id, flips_at } = entry;
  const isOther = rendering_provider_id !== undefined && rendering_provider_id !== provider_id;
  return [
    listOf(state),
    ...filtersOf(entry).map((filter) => listOf(state, filter)),
    ...(patient_id === undefined ? [] : [patient_id, ...merged_patient_ids].map((id) => `patient=${id}`)),
    ...(isOther ? [`rendering=${rendering_provider_id}`] : []),
    ...other_payer_ids.map((id) => otherPayerList(id)),
    ...namedEncounters(entry).map((id) => `encounter=${id}`),
    ...(flips_at === undefined ? [] : [flipsList(minuteOf(flips_at))]),
  ];
}

/**
 * Returns the lists of the encounters that depend on a record. Given states, they leave out encounters in others as
 * far as lists can.
 */
export function listsResting(
  kind: string,
  id: string,
  states: readonly ReadinessState[] = readinessStates,
): string[] {
  if (kind === 'patient' || kind === 'encounter') return [`${kind}=${id}`];
  const filter = { by: kind as 'payer' | 'facility' | 'provider', value: id };
  const lists = states.map((state) => listOf(state, filter));
  if (kind === 'provider') return [...lists, `rendering=${id}`];
  return kind === 'payer' ? [...lists, otherPayerList(id)] : lists;
}

/** Returns the list of the encounters whose patient has another than the primary insurance with a payer. */
function otherPayerList(id: string): string {
  return `other_payer=${id}`;
}

/** Returns the other encounters at fault. */
function namedEncounters({ encounter_id, findings }: WorklistEntry): string[] {
  const ids = findings.flatMap(({ kind, id }) => (kind === 'encounter' && id !== encounter_id ? [id] : []));
  return [...new Set(ids)];
}

/** Returns the list of the encounters whose next finding begins or ends within a minute. */
export function flipsList(minute: number): string {
  return `flips=${minute}`;
}

/** Returns the minute, counted from 1970, of a moment in milliseconds. */
export function minuteOf(moment: number): number {
  return Math.floor(moment / MINUTE_MS);
}
