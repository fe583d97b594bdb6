import { dataAs, type RecordedEvent } from '../../domain/events/event.ts';
import { sourcesStream } from '../../domain/events/streamNames.ts';
import { upcast } from '../../domain/events/upcast.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { foldStream } from '../records/queries/foldStream.ts';
import type { Source } from './source.ts';

/** Data of `SourceConfigured`: all of the source; any earlier configuration with that id no longer applies. */
export interface SourceConfigured {
  source: Source;
}

/** Data of `SourceRemoved`. */
export interface SourceRemoved {
  source_id: string;
}

/** The sources of a workspace, as folded from its stream. */
export interface SourceState {
  /** How many events were folded. */
  version: number;
  /** By their ids, in the order in which they were first configured. */
  sources: ReadonlyMap<string, Source>;
}

export const noSources: SourceState = { version: 0, sources: new Map() };

/** Folds the next event of the stream of sources; the given state is not changed. Throws an `UnreadableError`. */
export function evolveSources(state: SourceState | undefined, event: RecordedEvent): SourceState {
  const { type, data } = upcast(event);
  const sources = new Map(state?.sources);
  if (type === 'SourceConfigured') {
    const { source } = dataAs<SourceConfigured>(data);
    sources.set(source.id, source);
  } else {
    sources.delete(dataAs<SourceRemoved>(data).source_id);
  }
  return { version: event.revision + 1, sources };
}

/**
 * Resolves with the sources of a workspace with the version of their stream, as of every change acknowledged before
 * the call. Rejects with `unavailable` and `unreadable`.
 */
export async function readSourceState(eventLog: EventLog, workspace: string): Promise<SourceState> {
  return (await foldStream(eventLog, sourcesStream(workspace), evolveSources)) ?? noSources;
}
