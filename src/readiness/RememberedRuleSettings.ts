import { readinessStream } from '../events/streamNames.ts';
import type { EventLog } from '../ports/eventLog.ts';
import { foldStream } from '../reads/foldStream.ts';
import { evolveRuleSettings, noSettings, type RuleSettings } from './ruleSettings.ts';

/** For so long what was read is taken for the present. */
const FRESH_MS = 1_000;

/** What workspaces have set of the rules, for those who wait for no store. */
export class RememberedRuleSettings {
  readonly #eventLog: EventLog;
  readonly #known = new Map<string, { settings: RuleSettings; readAt: number }>();

  constructor(eventLog: EventLog) {
    this.#eventLog = eventLog;
  }

  /** As last read, and none before; after a second this has it read anew, for those who ask next. */
  of(workspace: string): RuleSettings {
    const { settings, readAt } = this.#known.get(workspace) ?? { settings: noSettings, readAt: -Infinity };
    if (performance.now() - readAt > FRESH_MS) this.#read(workspace, settings);
    return settings;
  }

  /** Reads what was set since; where that cannot be read, what is known stands. */
  async #read(workspace: string, known: RuleSettings): Promise<void> {
    this.#known.set(workspace, { settings: known, readAt: Infinity });
    const state = known.version === 0 ? undefined : known;
    const reading = foldStream(this.#eventLog, readinessStream(workspace), evolveRuleSettings, { state });
    const settings = (await reading.catch(() => undefined)) ?? known;
    this.#known.set(workspace, { settings, readAt: performance.now() });
  }
}
