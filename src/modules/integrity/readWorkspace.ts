import type { UnreadableEvent } from '../../domain/events/event.ts';
import { SubjectOwners } from '../../domain/events/SubjectOwners.ts';
import { isBookkeeping, sharedStreams } from '../../domain/events/streamNames.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { type LogRange, type RangeBatch, readLog } from './readLog.ts';

/**
 * Yields all events of a workspace in log order: those of its own streams, and its own in shared ones; of erased ones, only those
 * of its own streams. Unreadable are those of its own streams and all of shared ones, which may be its own; also, of whichever
 * workspace, those in shared streams that are about a subject of another one (`SubjectOwners`), as far as the range shows. Rejects as
 * `readLog` does.
 */
export async function* readWorkspace(
  eventLog: EventLog,
  workspace: string,
  range: LogRange,
): AsyncGenerator<RangeBatch> {
  const prefix = `${workspace}.`;
  const isOwn = ({ stream }: { stream: string }) => stream.startsWith(prefix);
  const isShared = ({ stream }: { stream: string }) => sharedStreams.includes(stream);
  const owners = new SubjectOwners();
  const batches = readLog(eventLog, range, { streamPrefixes: [prefix, ...sharedStreams] });
  for await (const { events, unreadable, erased, position } of batches) {
    const misplaced = new Set(events.filter((event) => isShared(event) && !owners.take(event)));
    yield {
      events: events.filter(
        (event) =>
          event.metadata.workspace === workspace && !isBookkeeping(event.stream) && !misplaced.has(event),
      ),
      unreadable: [
        ...unreadable.filter((event) => isOwn(event) || isShared(event)),
        ...[...misplaced].map(
          ({ id, type, stream, revision, position: at }): UnreadableEvent => ({
            ...{ id, type, stream, revision, position: at },
            misplaced: true,
          }),
        ),
      ],
      erased: erased.filter(isOwn),
      position,
    };
  }
}
