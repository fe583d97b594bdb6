import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, RecordedEvent } from '../../domain/events/event.ts';
import { type Caller, newActorEvent, newEvent } from '../../domain/events/newEvent.ts';
import { readinessStream, recordStream } from '../../domain/events/streams.ts';
import { evolveRecord, type RecordState } from '../../domain/records/fold.ts';
import { isTimeZone, UTC } from '../../domain/records/schema/timeZones.ts';
import { validationError } from '../../domain/records/schema/validation.ts';
import { notFound, ServiceError } from '../../platform/errors.ts';
import { appendDecided, type EventLog } from '../../storage/eventLog.ts';
import { findPreviousAppend } from '../idempotency/keys.ts';
import { AggregateCache, foldStream } from '../records/queries/records.ts';
import type { LimitedType } from './rules/filingLimits.ts';
import {
  type FilingLimitSet,
  isLongerThanLaw,
  legalLimits,
  limitSetFor,
  limitText,
} from './rules/filingLimits.ts';
import { rules } from './rules/index.ts';
import { MOST_PAYER_RULES } from './rules/payerRuleData.ts';
import {
  type BillingEntitySet,
  evolveRuleSettings,
  noSettings,
  type OfPayers,
  type PayerRulesSet,
  payerChoiceKey,
  type ReadinessRuleSet,
  type RequiredDocumentSet,
  type RuleChoice,
  type RuleSettings,
  readRuleSettings,
  type ruleSettingTypes,
} from './rules/rule.ts';
import type { CandidateSettings } from './simulation.ts';

/** The rule settings of workspaces, for callers that do not wait for a store. */
export class RuleSettingsCache {
  readonly #folds: AggregateCache<RuleSettings>;

  constructor(eventLog: EventLog) {
    this.#folds = new AggregateCache(eventLog, readinessStream, evolveRuleSettings);
  }

  /**
   * Returns the settings as last read, none before that; after a second it also triggers a new reading, for later
   * callers.
   */
  of(workspace: string): RuleSettings {
    return this.#folds.known(workspace) ?? noSettings;
  }
}

/** The type and data of an event in the settings stream. */
interface SettingsChange {
  type: (typeof ruleSettingTypes)[number];
  data: JsonObject;
}

/**
 * Appends the event that `decide` returns given the rule settings of the caller's workspace; nothing where it returns
 * none. Rejects with what `decide` throws, with `unreadable` and `unavailable`.
 */
async function changeRuleSettings(
  eventLog: EventLog,
  caller: Caller,
  decide: (settings: RuleSettings) => SettingsChange | undefined,
): Promise<void> {
  const { workspace } = caller;
  const read = () => readRuleSettings(eventLog, workspace);
  await appendDecided(eventLog, readinessStream(workspace), read, (settings) => {
    const change = decide(settings);
    return change && newActorEvent(caller, workspace, change.type, change.data);
  });
}

/**
 * Sets whether encounters of a visit type need a document of a category in the caller's workspace; appends nothing
 * when it is so already. Rejects with `unreadable` and `unavailable`.
 */
export async function setRequiredDocument(
  eventLog: EventLog,
  caller: Caller,
  data: RequiredDocumentSet,
): Promise<void> {
  const { visit_type: visitType, category, required } = data;
  await changeRuleSettings(eventLog, caller, ({ requiredDocuments }) => {
    const isRequired = requiredDocuments.get(visitType)?.includes(category) ?? false;
    return isRequired === required ? undefined : { type: 'RequiredDocumentSet', data: { ...data } };
  });
}

/**
 * Sets how long after the date of service a payer takes claims, or the payers of a type, or all others; `null` removes what was set.
 * Appends nothing when it is so already. Rejects with `not_found` when there is no such payer, with `validation_failed` when the
 * limit of a type is longer than the law's, with `unreadable` and `unavailable`.
 */
export async function setFilingLimit(
  eventLog: EventLog,
  caller: Caller,
  data: FilingLimitSet,
): Promise<void> {
  const { limit, payer_id: payerId, payer_type: type } = data;
  if (payerId !== undefined && limit !== null)
    await requireRecord(eventLog, caller.workspace, 'payer', payerId);
  if (type !== undefined && limit !== null && isLongerThanLaw(limit, type)) {
    throw new ServiceError(
      'validation_failed',
      `The law lets payers of the type ${type} take claims for ${limitText(legalLimits[type])}: set a shorter limit, or one for a payer.`,
    );
  }
  await changeRuleSettings(eventLog, caller, ({ filingLimits }) =>
    limitSetFor(filingLimits, data) === limit ? undefined : { type: 'FilingLimitSet', data: { ...data } },
  );
}

/**
 * Sets who is the billing provider of claims in the caller's workspace, at a facility or at all without one of their own; `null`
 * removes what was set. Appends nothing when it is so already. Rejects with `not_found` when there is no such facility, with
 * `unreadable` and `unavailable`.
 */
export async function setBillingEntity(
  eventLog: EventLog,
  caller: Caller,
  data: BillingEntitySet,
): Promise<void> {
  const { entity, facility_id: id } = data;
  if (id !== undefined && entity !== null) await requireRecord(eventLog, caller.workspace, 'facility', id);
  await changeRuleSettings(eventLog, caller, ({ billingEntities: { default: others, byFacility } }) => {
    const before = (id === undefined ? others : byFacility.get(id)) ?? null;
    return before === entity ? undefined : { type: 'BillingEntitySet', data: { ...data } };
  });
}

/**
 * Sets the time zone (IANA) in which days begin and end in the caller's workspace; `null`: UTC. Appends nothing when it is so
 * already. Rejects with `validation_failed` when there is no such time zone, with `unreadable` and `unavailable`.
 */
export async function setTimeZone(
  eventLog: EventLog,
  caller: Caller,
  timeZone: string | null,
): Promise<void> {
  if (timeZone !== null && !isTimeZone(timeZone)) {
    throw new ServiceError(
      'validation_failed',
      'That is not a time zone. Specify its IANA name, such as America/Chicago, or none.',
    );
  }
  await changeRuleSettings(eventLog, caller, ({ timeZone: before }) =>
    before === (timeZone ?? UTC) ? undefined : { type: 'BillingTimeZoneSet', data: { time_zone: timeZone } },
  );
}

/**
 * Puts settings in force that were tried in the caller's workspace, each as its own event; what is so already appends nothing. What can
 * be refused comes first. Rejects as `setPayerRules`, `setRule`, `setFilingLimit` and `setBillingEntity` do; sent again, it completes what was interrupted.
 */
export async function applySettings(
  eventLog: EventLog,
  caller: Caller,
  candidates: CandidateSettings,
): Promise<void> {
  const {
    rules: choices,
    filing_limits: limits,
    billing_entities: entities,
    payer_choices = [],
    payer_rules,
    required_documents,
  } = candidates;
  if (payer_rules) await setPayerRules(eventLog, caller, payer_rules, { isWhole: false });
  for (const { rule, choice, ...payers } of payer_choices)
    await setRule(eventLog, caller, rule, choice, payers);
  for (const [payer_id, limit] of Object.entries(limits?.payers ?? {}))
    await setFilingLimit(eventLog, caller, { limit, payer_id });
  for (const [type, limit = null] of Object.entries(limits?.payer_types ?? {}))
    await setFilingLimit(eventLog, caller, { limit, payer_type: type as LimitedType });
  if (limits?.default !== undefined) await setFilingLimit(eventLog, caller, { limit: limits.default });
  for (const [facility_id, entity] of Object.entries(entities?.facilities ?? {}))
    await setBillingEntity(eventLog, caller, { entity, facility_id });
  if (entities?.default !== undefined) await setBillingEntity(eventLog, caller, { entity: entities.default });
  for (const [code, choice = 'default'] of Object.entries(choices ?? {}))
    await setRule(eventLog, caller, code, choice);
  const { requiredDocuments } = await readRuleSettings(eventLog, caller.workspace);
  for (const [visitType, wanted = []] of Object.entries(required_documents ?? {})) {
    for (const category of new Set([...(requiredDocuments.get(visitType) ?? []), ...wanted])) {
      const required = wanted.some((one) => one === category);
      await setRequiredDocument(eventLog, caller, { visit_type: visitType, category, required });
    }
  }
}

async function requireRecord(eventLog: EventLog, workspace: string, kind: string, id: string): Promise<void> {
  const evolve = (state: RecordState | undefined, event: RecordedEvent) => evolveRecord(kind, state, event);
  const record = await foldStream(eventLog, recordStream(workspace, kind, id), evolve);
  if (record === undefined || record.erased) {
    throw new ServiceError('not_found', `The workspace ${workspace} has no ${kind} with that id.`);
  }
}

/**
 * Sets the choice for a rule in the caller's workspace, for all payers or some; appends nothing when it is so already. Rejects with
 * `not_found` when there is no such rule or payer, with `unreadable` and `unavailable`.
 */
export async function setRule(
  eventLog: EventLog,
  caller: Caller,
  code: string,
  choice: RuleChoice | 'default',
  { payer_id: id, payer_type: type }: OfPayers = {},
): Promise<void> {
  if (rules.every((one) => one.code !== code)) {
    throw new ServiceError(
      'not_found',
      `Rule ${code} does not exist. \`chartledger readiness rules\` lists all rules.`,
    );
  }
  if (id !== undefined && choice !== 'default') await requireRecord(eventLog, caller.workspace, 'payer', id);
  const payers: OfPayers = {
    ...(id !== undefined && { payer_id: id }),
    ...(type !== undefined && { payer_type: type.toLowerCase() }),
  };
  const data: ReadinessRuleSet = { rule: code, choice, ...payers };
  await changeRuleSettings(eventLog, caller, ({ choices, payerChoices }) => {
    const isOfAll = Object.keys(payers).length === 0;
    const before = isOfAll ? choices.get(code) : payerChoices?.get(payerChoiceKey(code, payers))?.choice;
    return (before ?? 'default') === choice ? undefined : { type: 'ReadinessRuleSet', data: { ...data } };
  });
}

/**
 * Sets rules of payers in the caller's workspace by their ids, `null` takes one away; `isWhole`: also all others. Resolves with
 * whether anything changed: it appends one event, or none. Rejects with `not_found` when one that is taken away is not there, with
 * `validation_failed` when the workspace would have too many, with `unreadable` and `unavailable`.
 */
export async function setPayerRules(
  eventLog: EventLog,
  caller: Caller,
  rules: PayerRulesSet['rules'],
  { isWhole }: { isWhole: boolean },
): Promise<'updated' | 'unchanged'> {
  const { workspace } = caller;
  const stream = readinessStream(workspace);
  if (await findPreviousAppend(eventLog, stream, caller)) return 'updated';
  let outcome: 'updated' | 'unchanged' = 'unchanged';
  const read = () => readRuleSettings(eventLog, workspace);
  await appendDecided(eventLog, stream, read, ({ payerRules: before = new Map() }) => {
    const others = isWhole ? [...before.keys()].filter((id) => !Object.hasOwn(rules, id)) : [];
    const wanted = [...Object.entries(rules), ...others.map((id) => [id, null] as const)];
    if (wanted.some(([id, rule]) => rule === null && !before.has(id))) throw notFound('Rule');
    const changes = wanted.filter(([id, rule]) => !isDeepStrictEqual(before.get(id) ?? null, rule));
    outcome = changes.length > 0 ? 'updated' : 'unchanged';
    if (changes.length === 0) return undefined;
    const left =
      new Set([...before.keys(), ...changes.map(([id]) => id)]).size -
      changes.filter(([, rule]) => rule === null).length;
    if (left > MOST_PAYER_RULES)
      throw validationError([
        { field: 'rules', message: `must be at most ${MOST_PAYER_RULES} in the workspace` },
      ]);
    return newEvent(caller, 'PayerRulesSet', { rules: Object.fromEntries(changes) });
  });
  return outcome;
}
