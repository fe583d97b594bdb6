import { sharedStreams } from '../events/streamNames.ts';
import type { EventLog } from '../ports/eventLog.ts';
import { type LogRange, type RangeBatch, readLog } from './readLog.ts';

/**
 * All events of a workspace in log order: of its own streams, and its own in shared ones; of those that cannot be read, and of
 * those that were erased, the ones of its own streams. Rejects as `readLog`.
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
