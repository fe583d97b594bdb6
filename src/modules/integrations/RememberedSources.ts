import { sourcesStream } from '../../domain/events/streamNames.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { RememberedFolds } from '../records/queries/RememberedFolds.ts';
import type { Source } from './source.ts';
import { evolveSources, noSources, type SourceState } from './sourceState.ts';

/** The sources of workspaces, for requests: a change made anywhere takes effect here within a second. */
export class RememberedSources {
  readonly #folds: RememberedFolds<SourceState>;

  constructor(eventLog: EventLog) {
    this.#folds = new RememberedFolds(eventLog, sourcesStream, evolveSources);
  }

  /**
   * Resolves with the configured sources of a workspace, as of a second ago or later. Rejects with `unavailable` and
   * `unreadable`.
   */
  async of(workspace: string): Promise<Source[]> {
    const { sources } = (await this.#folds.current(workspace)) ?? noSources;
    return [...sources.values()];
  }
}
