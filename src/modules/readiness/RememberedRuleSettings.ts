import { readinessStream } from '../../domain/events/streamNames.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { RememberedFolds } from '../records/queries/RememberedFolds.ts';
import { evolveRuleSettings, noSettings, type RuleSettings } from './rules/ruleSettings.ts';

/** The rule settings of workspaces, for callers that do not wait for a store. */
export class RememberedRuleSettings {
  readonly #folds: RememberedFolds<RuleSettings>;

  constructor(eventLog: EventLog) {
    this.#folds = new RememberedFolds(eventLog, readinessStream, evolveRuleSettings);
  }

  /**
   * Returns the settings as last read, none before that; after a second it also triggers a new reading, for later
   * callers.
   */
  of(workspace: string): RuleSettings {
    return this.#folds.known(workspace) ?? noSettings;
  }
}
