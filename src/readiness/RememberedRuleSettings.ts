import { readinessStream } from '../events/streamNames.ts';
import type { EventLog } from '../ports/eventLog.ts';
import { RememberedFolds } from '../reads/RememberedFolds.ts';
import { evolveRuleSettings, noSettings, type RuleSettings } from './ruleSettings.ts';

/** What workspaces have set of the rules, for those who wait for no store. */
export class RememberedRuleSettings {
  readonly #folds: RememberedFolds<RuleSettings>;

  constructor(eventLog: EventLog) {
    this.#folds = new RememberedFolds(eventLog, readinessStream, evolveRuleSettings);
  }

  /** As last read, and none before; after a second this has it read anew, for those who ask next. */
  of(workspace: string): RuleSettings {
    return this.#folds.known(workspace) ?? noSettings;
  }
}
