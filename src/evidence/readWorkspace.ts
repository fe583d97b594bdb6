import { sharedStreams } from '../events/streamNames.ts';
import type { EventLog } from '../ports/eventLog.ts';
import { type LogRange, type RangeBatch, readLog } from './readLog.ts';

/**
 * Yields all events of a workspace in log order: those of its own streams, and its own in shared ones; of unreadable and erased
 * ones, only those of its own streams. Rejects as `readLog` does.
 */
export async function* readWorkspace(
  eventLog: EventLog,
  workspace: string,
  range: LogRange,
): AsyncGenerator<RangeBatch> {
  const prefix = `${workspace}.`;
  const isOwn = ({ stream }: { stream: string }) => stream.startsWith(prefix);
  const batches = readLog(eventLog, range, { streamPrefixes: [prefix, ...sharedStreams] });
  for await (const { events, unreadable, erased, position } of batches) {
    yield {
      events: events.filter((event) => event.metadata.workspace === workspace),
      unreadable: unreadable.filter(isOwn),
      erased: erased.filter(isOwn),
      position,
    };
  }
}
