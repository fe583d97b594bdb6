import { type Caller, newActorEvent } from '../../domain/events/newEvent.ts';
import { sourcesStream } from '../../domain/events/streamNames.ts';
import { ServiceError } from '../../platform/errors.ts';
import { appendDecided } from '../../storage/appendDecided.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { readSourceState, type SourceRemoved } from './sourceState.ts';

/**
 * Removes a source of the caller's workspace; what it sent stays. Rejects with `not_found` when there is none with
 * that id, with `unreadable` and `unavailable`.
 */
export async function removeSource(eventLog: EventLog, caller: Caller, id: string): Promise<void> {
  const { workspace } = caller;
  const read = () => readSourceState(eventLog, workspace);
  await appendDecided(eventLog, sourcesStream(workspace), read, ({ sources }) => {
    if (!sources.has(id)) throw new ServiceError('not_found', 'The workspace has no source with that id.');
    const data: SourceRemoved = { source_id: id };
    return newActorEvent(caller, workspace, 'SourceRemoved', { ...data });
  });
}
