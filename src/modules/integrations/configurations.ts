import { sourcesStream } from '../../domain/events/streamNames.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { foldStream } from '../records/queries/foldStream.ts';
import type { Source } from './source.ts';
import { evolveSources, type SourceState } from './sourceState.ts';

/** The sources of a workspace as one event left them. */
export interface Configuration {
  /** From 1 on, within the workspace. */
  number: number;
  /** Since when they applied: ISO 8601, UTC. */
  at: string;
  sources: readonly Source[];
}

interface Configured {
  version: number;
  state: SourceState;
  all: Configuration[];
}

/**
 * Resolves with all configurations that a workspace has had, oldest first. Rejects with `unavailable` and
 * `unreadable`.
 */
export async function readConfigurations(eventLog: EventLog, workspace: string): Promise<Configuration[]> {
  const folded = await foldStream<Configured>(eventLog, sourcesStream(workspace), (before, event) => {
    const state = evolveSources(before?.state, event);
    const configuration = {
      number: state.version,
      at: event.recordedAt,
      sources: [...state.sources.values()],
    };
    return { version: state.version, state, all: [...(before?.all ?? []), configuration] };
  });
  return folded?.all ?? [];
}

/**
 * Returns the number of the configuration that made a source what it is now; undefined where it is not configured.
 */
export function numberOf(configurations: readonly Configuration[], sourceId: string): number | undefined {
  let found: { number: number; source: Source } | undefined;
  for (const { number, sources } of configurations) {
    const source = sources.find(({ id }) => id === sourceId);
    if (source === undefined) found = undefined;
    else if (source !== found?.source) found = { number, source };
  }
  return found?.number;
}
