import type { EventStoreDBClient, Filter } from '@eventstore/db-client';
import type { Position } from '../../ports/eventLog.ts';
import { TIMEOUT_MS } from './attempt.ts';
import { fromPosition, type LogEntry, toLogEntry } from './recordedEvent.ts';

/** What a subscription tells, one after the other and in the order of the log. */
export interface Subscriber {
  confirmed?(): void;
  /** An event that passed the filter, or a place up to which none is left. */
  entry(entry: LogEntry): void;
  /** Everything that the log held when the subscription began has been told. */
  caughtUp?(): void;
  /** The last word, unless the subscription was given up by its subscriber. */
  ended(error: unknown): void;
}

/** Subscribes to the log after a position; the result ends it. The driver never reconnects a subscription. */
export function subscribe(
  client: EventStoreDBClient,
  after: Position,
  filter: Filter,
  subscriber: Subscriber,
): () => void {
  let open = true;
  let delivered = 0;
  const notices: { after: number; tell(): void }[] = [];
  const tellNotices = () => {
    while (open && notices[0] && notices[0].after <= delivered) notices.shift()?.tell();
  };
  // The driver calls these while events that came before are still in its buffer: they wait for those.
  const notice = (tell: () => void) => {
    notices.push({ after: delivered + subscription.readableLength, tell });
    tellNotices();
  };
  const checkpointReached = (_: unknown, position: { commit: bigint }) =>
    notice(() => subscriber.entry({ position: Number(position.commit), event: undefined }));
  const subscription = client.subscribeToAll({
    fromPosition: fromPosition(after),
    filter: { ...filter, checkpointReached },
  });
  const close = () => {
    open = false;
    clearTimeout(unconfirmed);
    subscription.unsubscribe().catch(() => undefined);
  };
  const end = (error: unknown) => {
    if (!open) return;
    close();
    subscriber.ended(error);
  };
  const unconfirmed = setTimeout(() => end(new Error('no answer')), TIMEOUT_MS);
  subscription.on('confirmation', () => {
    clearTimeout(unconfirmed);
    if (open) subscriber.confirmed?.();
  });
  subscription.on('data', (resolved) => {
    if (!open) return;
    subscriber.entry(toLogEntry(resolved));
    delivered += 1;
    tellNotices();
  });
  subscription.on('caughtUp', () => notice(() => subscriber.caughtUp?.()));
  subscription.on('error', end);
  subscription.on('end', () => end(new Error('the server ended the subscription')));
  return close;
}
