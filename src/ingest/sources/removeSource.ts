import { ServiceError } from '../../errors.ts';
import { type Caller, newActorEvent } from '../../events/newEvent.ts';
import { sourcesStream } from '../../events/streamNames.ts';
import { appendDecided } from '../../ports/appendDecided.ts';
import type { EventLog } from '../../ports/eventLog.ts';
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
