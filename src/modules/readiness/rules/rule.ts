import { bodyOf } from '../../../../projections/projection.ts';
import { documentPartitions, documentsModel } from '../../../../projections/records.ts';
import { dataAs, type RecordedEvent } from '../../../domain/events/event.ts';
import type { ClaimOutcome, UsedVersion } from '../../../domain/events/readinessEvents.ts';
import { readinessStream, recordStream } from '../../../domain/events/streams.ts';
import { upcast } from '../../../domain/events/upcasting.ts';
import type { DocumentCategory } from '../../../domain/records/document.ts';
import type { RecordFields } from '../../../domain/records/schema/kind.ts';
import { UTC } from '../../../domain/records/schema/timeZones.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import type { ReadModels } from '../../../storage/readModels.ts';
import { allRows } from '../../records/queries/paging.ts';
import { foldStream } from '../../records/queries/records.ts';
import type { AllAnswers } from './answers.ts';
import { type CodeSets, readCodeSets } from './codeSets.ts';
import {
  type FilingLimitSet,
  type FilingLimits,
  noLimits,
  withEntry,
  withFilingLimit,
} from './filingLimits.ts';
import type { PayerRule, RuleCodes } from './payerRuleData.ts';
import type { Repair } from './repairs.ts';

/** The text of a field, dotted when nested; undefined where there is none or it is blank. */
export function textOf(record: BilledRecord | undefined, field: string): string | undefined {
  const dot = field.indexOf('.');
  const parent = dot === -1 ? record?.fields : record?.fields[field.slice(0, dot)];
  const value = (parent as Record<string, unknown> | undefined)?.[field.slice(dot + 1)];
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

/** A fault for each of the fields that a record has no text in; none where there is no record. */
export function missing(record: BilledRecord | undefined, fields: readonly string[], why: string): Fault[] {
  if (record === undefined) return [];
  return fields
    .filter((field) => textOf(record, field) === undefined)
    .map((field) => ({ record, field, text: `${why} This field is empty.` }));
}

/** A fault where a record has a text in a field that does not pass; none without a text. */
export function wrong(
  record: BilledRecord | undefined,
  field: string,
  passes: (value: string) => boolean,
  text: string,
): Fault[] {
  const value = textOf(record, field);
  return record === undefined || value === undefined || passes(value) ? [] : [{ record, field, text }];
}

/** Each record once, whatever parts it has in a claim. */
export function distinct(...records: (BilledRecord | undefined)[]): BilledRecord[] {
  const isSame = (one: BilledRecord) => (other: BilledRecord | undefined) =>
    other?.id === one.id && other.kind === one.kind;
  return records.filter(
    (record, at): record is BilledRecord => record !== undefined && records.findIndex(isSame(record)) === at,
  );
}

/** Whether an encounter is void: kept and readable, and not billed. */
export function isVoid({ fields }: Pick<BilledRecord, 'fields'>): boolean {
  return typeof fields.voided_at === 'string';
}

/** The day of a date or date-time, as it was written. */
export function dayOf(date: string): string {
  return date.slice(0, 10);
}

const AT_ONCE = 16;

/**
 * Resolves with the categories of encounters' documents according to the read model of documents, by the encounters'
 * ids; only for those whose visit type requires some. Rejects with `unavailable`.
 */
export async function documentCategories(
  readModels: ReadModels,
  workspace: string,
  encounters: readonly BilledRecord[],
  required: RequiredDocuments,
): Promise<Map<string, ReadonlySet<DocumentCategory>>> {
  const wanted = encounters.filter((encounter) => required.has(textOf(encounter, 'visit_type') ?? ''));
  const found = new Map<string, ReadonlySet<DocumentCategory>>();
  const look = async ({ kind, id }: BilledRecord) => {
    const [present = ''] = documentPartitions(recordStream(workspace, kind, id));
    const rows = await Array.fromAsync(allRows(readModels, documentsModel, present));
    const categories = rows.flatMap((row) => bodyOf(row)?.document?.category ?? []);
    found.set(id, new Set(categories));
  };
  for (let at = 0; at < wanted.length; at += AT_ONCE) {
    await Promise.all(wanted.slice(at, at + AT_ONCE).map(look));
  }
  return found;
}

/** The categories of the documents that every encounter of a visit type needs, by visit type. */
export type RequiredDocuments = ReadonlyMap<string, readonly DocumentCategory[]>;

/** Data of `RequiredDocumentSet`. */
export interface RequiredDocumentSet {
  visit_type: string;
  category: DocumentCategory;
  required: boolean;
}

/** Returns what is required after an event; the given requirements are not changed. */
function withRequiredDocument(
  before: RequiredDocuments,
  { visit_type: visitType, category, required }: RequiredDocumentSet,
): RequiredDocuments {
  const others = (before.get(visitType) ?? []).filter((one) => one !== category);
  const categories = required ? [...others, category] : others;
  const after = new Map(before);
  if (categories.length === 0) after.delete(visitType);
  else after.set(visitType, categories);
  return after;
}

/** `blocks`: the payer would refuse the claim. `warns`: it may. */
export const severities = ['blocks', 'warns'] as const;
export type Severity = (typeof severities)[number];

/** Who in a practice puts a finding right. */
export const owners = ['registration', 'clinician', 'credentialing', 'practice', 'billing'] as const;
export type Owner = (typeof owners)[number];

const ownersByKind: Readonly<Record<string, Owner>> = {
  patient: 'registration',
  encounter: 'clinician',
  provider: 'credentialing',
  facility: 'practice',
};

/** Who puts right what a rule finds in a record of a kind; undefined: a rule that no longer exists. */
export function ownerOf(rule: Pick<Rule, 'owner'> | undefined, kind: string): Owner {
  return rule?.owner ?? ownersByKind[kind] ?? 'billing';
}

/** A record on which a claim is based, in a version of it. */
export interface BilledRecord {
  kind: string;
  id: string;
  version: number;
  /** As callers see it, but repaired: as a claim would carry it. */
  fields: RecordFields;
  /** How the fields differ from what was sent; left out where they do not. */
  repairs?: readonly Repair[];
}

/**
 * What a claim for an encounter is based on. Anything that the encounter does not name, or that was erased, is
 * undefined.
 */
export interface BillingFacts {
  encounter: BilledRecord;
  /** The patient it names, or the one into whom that patient was merged. */
  patient?: BilledRecord | undefined;
  /** The patients in the chain of merges from the one it names to `patient`, or in a circle. */
  merged?: readonly BilledRecord[] | undefined;
  /** The billing provider. */
  provider?: BilledRecord | undefined;
  /** The provider who gave the care: often the same. */
  renderingProvider?: BilledRecord | undefined;
  facility?: BilledRecord | undefined;
  /** The payer of the patient's primary insurance. */
  payer?: BilledRecord | undefined;
  /** The payers of the secondary and the tertiary insurance. */
  otherPayers?: readonly (BilledRecord | undefined)[] | undefined;
  /** The categories of the encounter's documents; undefined where they were not looked up, as none is required. */
  documents?: ReadonlySet<DocumentCategory> | undefined;
  /** The other encounters of its visit, in the order of creation; undefined where they were not looked up. */
  sameVisit?: readonly BilledRecord[] | undefined;
  /** The claims by which others of its visit were billed last, by their ids; undefined where none was. */
  sameVisitBilled?: ReadonlyMap<string, Claim> | undefined;
  /** The last claim that was sent for the encounter. Undefined where it was not billed. */
  claim?: Claim | undefined;
  /** What was last billed for the encounter, or acknowledged since. Undefined where it was not billed. */
  billed?: readonly BilledVersion[] | undefined;
  /**
   * When it was first billed to each payer, in milliseconds since 1970, by the payers' ids. Undefined where it was
   * not, or was not looked up, as no filing limit applies.
   */
  firstBilled?: FirstBilled | undefined;
  /** What was answered to findings in the encounter. Undefined where nothing was. */
  answers?: AllAnswers | undefined;
}

/** The insurances of a patient, by rank. */
export const ranks = ['primary_insurance', 'secondary_insurance', 'tertiary_insurance'] as const;
export type Rank = (typeof ranks)[number];

/** A claim that was sent, under the id that its sender gave it. */
export interface Claim {
  id: string;
  /** When it was reported: ISO 8601, UTC. */
  at: string;
  /** What became of it last; undefined before anything was reported. */
  outcome?: ClaimOutcome;
  /** The number that the payer gave it. */
  number?: string;
}

export type FirstBilled = ReadonlyMap<string, number>;

/** A version on which a claim that was sent is based. */
export interface BilledVersion extends UsedVersion {
  /** The fields at that time; undefined where that version was erased. */
  fields: RecordFields | undefined;
}

/** One thing that is wrong, in a field of a record. */
export interface Fault {
  record: BilledRecord;
  /** Dotted when nested. */
  field: string;
  /** A sentence without any value of a record. */
  text: string;
  /** The claim by which the record was billed, where that is the fault. */
  claimId?: string;
  /** The version of the record that was billed, where the fault is to differ from it. */
  billedVersion?: number;
  /** The moment at which it begins by itself, in milliseconds since 1970; default: at once. */
  from?: number;
  /** The moment at which it ends by itself; default: never. */
  until?: number;
}

/** A billing rule. */
export interface Rule {
  /** Its name everywhere: lower-case words with underscores. */
  code: string;
  severity: Severity;
  /** Who puts right what it finds. Omitted: whoever keeps the record at fault. */
  owner?: Owner;
  /** Incremented when it finds something else than before in the same facts; every encounter is then evaluated again. Omitted: 1. */
  version?: number;
  /** What it demands: a sentence without its full stop. */
  title: string;
  /** Where the demand comes from. */
  source: string;
  codes?: RuleCodes;
  /** The fields that it looks at, each as `kind.field`. */
  reads: readonly string[];
  /** It compares the encounter with others: what the encounter says is not sufficient. */
  comparesEncounters?: true;
  /** It also applies to a void encounter: in one, nothing else is found. */
  holdsForVoid?: true;
  /** Returns what is wrong: a pure function of the facts, and of the workspace's settings. */
  check(facts: BillingFacts, settings: RuleSettings): Fault[];
}

/** The possible choices for a rule: a severity, whatever its own is, or not to apply it. */
export const ruleChoices = [...severities, 'off'] as const;
export type RuleChoice = (typeof ruleChoices)[number];

/** A payer, or the payers of a type in lower case; neither: all others. */
export interface OfPayers {
  payer_id?: string | undefined;
  payer_type?: string | undefined;
}

/** Data of `ReadinessRuleSet`; `default`: the choice is taken away, so that the next broader one, or the rule's own severity, applies. */
export interface ReadinessRuleSet extends OfPayers {
  rule: string;
  choice: RuleChoice | 'default';
}

/** Data of `PayerRulesSet`: rules of payers by their ids; `null` takes one away. */
export interface PayerRulesSet {
  rules: Record<string, PayerRule | null>;
}

/** The types of the events that change a workspace's settings. */
export const ruleSettingTypes = [
  'ReadinessRuleSet',
  'FilingLimitSet',
  'RequiredDocumentSet',
  'BillingEntitySet',
  'BillingTimeZoneSet',
  'PayerRulesSet',
] as const;

/** Whether an event of a type changes a workspace's settings. */
export function isRuleSetting(type: string): boolean {
  return (ruleSettingTypes as readonly string[]).includes(type);
}

/** Who is the billing provider of a claim (X12 005010X222A1, loop 2010AA). */
export const billingEntities = ['facility', 'provider'] as const;
export type BillingEntity = (typeof billingEntities)[number];

/** Who bills, as a workspace has set it. */
export interface BillingEntities {
  /** At facilities without one of their own. */
  default?: BillingEntity;
  /** By the ids of the facilities. */
  byFacility: ReadonlyMap<string, BillingEntity>;
}

/** Data of `BillingEntitySet`: at a facility, or at all others without one; `null` takes it away. */
export interface BillingEntitySet {
  entity: BillingEntity | null;
  facility_id?: string;
}

/** Data of `BillingTimeZoneSet`; `null`: UTC. */
export interface BillingTimeZoneSet {
  time_zone: string | null;
}

function withBillingEntity(
  { byFacility, ...before }: BillingEntities,
  { entity, facility_id: id }: BillingEntitySet,
): BillingEntities {
  if (id !== undefined) return { ...before, byFacility: withEntry(byFacility, id, entity) };
  return { byFacility, ...(entity !== null && { default: entity }) };
}

/** What a workspace's rules use besides the facts: its settings, as folded from its stream, and sets of codes. */
export interface RuleSettings {
  /** How many events of the workspace's stream were folded. */
  version: number;
  /** By the codes of the rules. */
  choices: ReadonlyMap<string, RuleChoice>;
  /** Those that hold for payers only, by their `payerChoiceKey`. */
  payerChoices?: ReadonlyMap<string, ReadinessRuleSet>;
  /** Rules of payers, by their ids. */
  payerRules?: ReadonlyMap<string, PayerRule>;
  filingLimits: FilingLimits;
  requiredDocuments: RequiredDocuments;
  billingEntities: BillingEntities;
  /** In which days begin and end: a name of IANA. */
  timeZone: string;
  /** The latest code sets loaded for the whole installation. */
  codeSets?: CodeSets;
  /** How many were loaded under each name. */
  codeSetVersions?: ReadonlyMap<string, number>;
}

export const noSettings: RuleSettings = {
  version: 0,
  choices: new Map(),
  filingLimits: noLimits,
  requiredDocuments: new Map(),
  billingEntities: { byFacility: new Map() },
  timeZone: UTC,
};

/** By this a choice for a rule and some payers is known among others. */
export function payerChoiceKey(rule: string, { payer_id: id, payer_type: type }: OfPayers): string {
  return JSON.stringify([rule, id ?? null, type ?? null]);
}

/** Returns a workspace's choice for a rule: for a payer, or else the payers of its type, or else for all. */
export function choiceOf(
  { choices, payerChoices }: RuleSettings,
  { code, severity }: Rule,
  { payer_id, payer_type }: OfPayers = {},
): RuleChoice {
  const own =
    payerChoices?.get(payerChoiceKey(code, { payer_id })) ??
    payerChoices?.get(payerChoiceKey(code, { payer_type }));
  return (own?.choice as RuleChoice | undefined) ?? choices.get(code) ?? severity;
}

/** Whether a workspace has turned a rule off, for all payers. */
export function isOff(settings: RuleSettings, rule: Rule): boolean {
  const ofPayers = [...(settings.payerChoices?.values() ?? [])].filter((one) => one.rule === rule.code);
  return choiceOf(settings, rule) === 'off' && ofPayers.every(({ choice }) => choice === 'off');
}

/** Folds the next event of the settings stream; the given state is not changed. Throws an `UnreadableError`. */
export function evolveRuleSettings(state: RuleSettings | undefined, event: RecordedEvent): RuleSettings {
  const { type, data } = upcast(event);
  const before = { ...(state ?? noSettings), version: event.revision + 1 };
  switch (type) {
    case 'FilingLimitSet':
      return {
        ...before,
        filingLimits: withFilingLimit(before.filingLimits, dataAs<FilingLimitSet>(data)),
      };
    case 'RequiredDocumentSet':
      return {
        ...before,
        requiredDocuments: withRequiredDocument(before.requiredDocuments, dataAs<RequiredDocumentSet>(data)),
      };
    case 'BillingEntitySet':
      return {
        ...before,
        billingEntities: withBillingEntity(before.billingEntities, dataAs<BillingEntitySet>(data)),
      };
    case 'BillingTimeZoneSet':
      return { ...before, timeZone: dataAs<BillingTimeZoneSet>(data).time_zone ?? UTC };
    case 'ReadinessRuleSet': {
      const { rule, choice, ...payers } = dataAs<ReadinessRuleSet>(data);
      const set = choice === 'default' ? null : choice;
      if (Object.keys(payers).length === 0)
        return { ...before, choices: withEntry(before.choices, rule, set) };
      const entry = set && { rule, choice: set, ...payers };
      const key = payerChoiceKey(rule, payers);
      return { ...before, payerChoices: withEntry(before.payerChoices ?? new Map(), key, entry) };
    }
    case 'PayerRulesSet': {
      const changes = Object.entries(dataAs<PayerRulesSet>(data).rules);
      const payerRules = changes.reduce(
        (rules: ReadonlyMap<string, PayerRule>, [id, rule]) => withEntry(rules, id, rule),
        before.payerRules ?? new Map(),
      );
      return { ...before, payerRules };
    }
    default:
      return before;
  }
}

/**
 * Resolves with the settings of a workspace's rules, as of every change acknowledged before the call. Rejects with
 * `unavailable` and `unreadable`.
 */
export async function readRuleSettings(eventLog: EventLog, workspace: string): Promise<RuleSettings> {
  const [settings = noSettings, loaded] = await Promise.all([
    foldStream(eventLog, readinessStream(workspace), evolveRuleSettings),
    readCodeSets(eventLog),
  ]);
  return { ...settings, ...loaded };
}
