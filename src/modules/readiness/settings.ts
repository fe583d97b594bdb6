import type { JsonObject, RecordedEvent } from '../../domain/events/event.ts';
import { type Caller, newActorEvent } from '../../domain/events/newEvent.ts';
import { readinessStream, recordStream } from '../../domain/events/streams.ts';
import { evolveRecord, type RecordState } from '../../domain/records/fold.ts';
import { ServiceError } from '../../platform/errors.ts';
import { appendDecided, type EventLog } from '../../storage/eventLog.ts';
import { AggregateCache, foldStream } from '../records/queries/records.ts';
import { rules } from './rules/index.ts';
import {
  evolveRuleSettings,
  type FilingLimitSet,
  noSettings,
  type ReadinessRuleSet,
  type RequiredDocumentSet,
  type RuleChoice,
  type RuleSettings,
  readRuleSettings,
} from './rules/rule.ts';

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
  type: 'ReadinessRuleSet' | 'FilingLimitSet' | 'RequiredDocumentSet';
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
 * Sets for how many days after the date of service a payer accepts claims, or all payers without a limit of their
 * own; `null` removes the limit. Appends nothing when it is so already. Rejects with `not_found` when there is no
 * such payer, with `unreadable` and `unavailable`.
 */
export async function setFilingLimit(
  eventLog: EventLog,
  caller: Caller,
  days: number | null,
  payerId?: string,
): Promise<void> {
  if (payerId !== undefined && days !== null) await requirePayer(eventLog, caller.workspace, payerId);
  const data: FilingLimitSet = { days, ...(payerId !== undefined && { payer_id: payerId }) };
  await changeRuleSettings(eventLog, caller, ({ filingLimits }) => {
    const set = payerId === undefined ? filingLimits.default : filingLimits.byPayer.get(payerId);
    return (set ?? null) === days ? undefined : { type: 'FilingLimitSet', data: { ...data } };
  });
}

async function requirePayer(eventLog: EventLog, workspace: string, id: string): Promise<void> {
  const evolve = (state: RecordState | undefined, event: RecordedEvent) =>
    evolveRecord('payer', state, event);
  const payer = await foldStream(eventLog, recordStream(workspace, 'payer', id), evolve);
  if (payer === undefined || payer.erased) {
    throw new ServiceError('not_found', `The workspace ${workspace} has no payer with that id.`);
  }
}

/**
 * Sets the choice for a rule in the caller's workspace; appends nothing when it is so already. Rejects with
 * `not_found` when there is no such rule, with `unreadable` and `unavailable`.
 */
export async function setRule(
  eventLog: EventLog,
  caller: Caller,
  code: string,
  choice: RuleChoice | 'default',
): Promise<void> {
  if (rules.every((one) => one.code !== code)) {
    throw new ServiceError(
      'not_found',
      `Rule ${code} does not exist. \`chartledger readiness rules\` lists all rules.`,
    );
  }
  const data: ReadinessRuleSet = { rule: code, choice };
  await changeRuleSettings(eventLog, caller, ({ choices }) =>
    (choices.get(code) ?? 'default') === choice ? undefined : { type: 'ReadinessRuleSet', data: { ...data } },
  );
}
