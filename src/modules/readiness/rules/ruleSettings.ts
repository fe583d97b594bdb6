import { dataAs, type RecordedEvent } from '../../../domain/events/event.ts';
import { readinessStream } from '../../../domain/events/streamNames.ts';
import { upcast } from '../../../domain/events/upcast.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import { foldStream } from '../../records/queries/foldStream.ts';
import { type FilingLimitSet, type FilingLimits, withFilingLimit } from './filingLimits.ts';
import {
  type RequiredDocumentSet,
  type RequiredDocuments,
  withRequiredDocument,
} from './requiredDocuments.ts';
import { type Rule, severities } from './rule.ts';
import { readTaxonomySets } from './taxonomySet.ts';

/** The possible choices for a rule: a severity, whatever its own is, or not to apply it. */
export const ruleChoices = [...severities, 'off'] as const;
export type RuleChoice = (typeof ruleChoices)[number];

/** Data of `ReadinessRuleSet`; `default`: the rule gets its own severity back. */
export interface ReadinessRuleSet {
  rule: string;
  choice: RuleChoice | 'default';
}

/** The types of the events that change a workspace's settings. */
export const ruleSettingTypes: readonly string[] = [
  'ReadinessRuleSet',
  'FilingLimitSet',
  'RequiredDocumentSet',
];

/** What a workspace's rules use besides the facts: its settings, as folded from its stream, and sets of codes. */
export interface RuleSettings {
  /** How many events of the workspace's stream were folded. */
  version: number;
  /** By the codes of the rules. */
  choices: ReadonlyMap<string, RuleChoice>;
  filingLimits: FilingLimits;
  requiredDocuments: RequiredDocuments;
  /** The latest taxonomy set loaded for the whole installation, where there is one. */
  taxonomyCodes?: ReadonlySet<string>;
  /** How many such sets were loaded; left out for none. */
  taxonomySets?: number;
}

export const noSettings: RuleSettings = {
  version: 0,
  choices: new Map(),
  filingLimits: { byPayer: new Map() },
  requiredDocuments: new Map(),
};

/** Returns a workspace's choice for a rule. */
export function choiceOf({ choices }: RuleSettings, rule: Rule): RuleChoice {
  return choices.get(rule.code) ?? rule.severity;
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
    case 'ReadinessRuleSet':
      return { ...before, choices: withChoice(before.choices, dataAs<ReadinessRuleSet>(data)) };
    default:
      return before;
  }
}

function withChoice(
  before: RuleSettings['choices'],
  { rule, choice }: ReadinessRuleSet,
): RuleSettings['choices'] {
  const choices = new Map(before);
  if (choice === 'default') choices.delete(rule);
  else choices.set(rule, choice);
  return choices;
}

/**
 * Resolves with the settings of a workspace's rules, as of every change acknowledged before the call. Rejects with
 * `unavailable` and `unreadable`.
 */
export async function readRuleSettings(eventLog: EventLog, workspace: string): Promise<RuleSettings> {
  const [settings = noSettings, sets] = await Promise.all([
    foldStream(eventLog, readinessStream(workspace), evolveRuleSettings),
    readTaxonomySets(eventLog),
  ]);
  const taxonomyCodes = sets.at(-1)?.codes;
  const taxonomySets = sets.length;
  return taxonomyCodes === undefined ? settings : { ...settings, taxonomyCodes, taxonomySets };
}
