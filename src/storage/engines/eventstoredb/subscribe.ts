import type { Filter } from '@eventstore/db-client';
import type { Position } from '../../../domain/events/event.ts';
import type { DriverClient } from './DriverClient.ts';
import { TIMEOUT_MS } from './drivers/attempt.ts';
import type { Driver } from './drivers/Driver.ts';
import { fromPosition, type LogEntry, toLogEntry } from './recordedEvent.ts';

/** Receives what a subscription reports, sequentially and in log order. */
export interface Subscriber {
  confirmed?(): void;
  /** An event that passed the filter, or a place up to which none is left. */
  entry(entry: LogEntry): void;
  /** Everything that the log held when the subscription began has been reported. */
  caughtUp?(): void;
  /** Called last, unless the subscriber ended the subscription. */
  ended(error: unknown): void;
}

/** Subscribes to the log after a position; calling the result ends the subscription. The driver never reconnects one. */
export function subscribe(
  client: DriverClient,
  after: Position,
  filter: Filter,
  subscriber: Subscriber,
): () => void {
  const closing = new AbortController();
  const { signal } = closing;
  const confirmed = Promise.withResolvers<void>();
  // Nobody awaits it if there was no connection to subscribe on.
  confirmed.promise.catch(() => undefined);
  const ended = (error: unknown) => {
    if (signal.aborted) return;
    closing.abort();
    confirmed.reject(error);
    subscriber.ended(error);
  };
  const unconfirmed = setTimeout(() => ended(new Error('no answer')), TIMEOUT_MS);
  signal.addEventListener('abort', () => clearTimeout(unconfirmed));
  const replaced = () => ended(new Error('its client was replaced'));
  const told = {
    ...subscriber,
    confirmed() {
      clearTimeout(unconfirmed);
      confirmed.resolve();
      subscriber.confirmed?.();
    },
    ended,
  };
  client
    .call(signal, (driver) => {
      client.replaced.addEventListener('abort', replaced, { signal });
      listen(driver, after, filter, told, signal);
      return confirmed.promise;
    })
    .catch(ended);
  return () => closing.abort();
}

function listen(
  driver: Driver,
  after: Position,
  filter: Filter,
  subscriber: Subscriber,
  signal: AbortSignal,
): void {
  let delivered = 0;
  const notices: { after: number; tell(): void }[] = [];
  const tellNotices = () => {
    while (!signal.aborted && notices[0] && notices[0].after <= delivered) notices.shift()?.tell();
  };
  // The driver calls these while earlier events are still in its buffer: they wait for those.
  const notice = (tell: () => void) => {
    notices.push({ after: delivered + subscription.readableLength, tell });
    tellNotices();
  };
  const checkpointReached = (_: unknown, position: { commit: bigint }) =>
    notice(() => subscriber.entry({ position: Number(position.commit), event: undefined }));
  const subscription = driver.subscribeToAll(fromPosition(after), { ...filter, checkpointReached });
  signal.addEventListener('abort', () => subscription.unsubscribe().catch(() => undefined));
  subscription.on('confirmation', () => signal.aborted || subscriber.confirmed?.());
  subscription.on('data', (resolved) => {
    if (signal.aborted) return;
    subscriber.entry(toLogEntry(resolved));
    delivered += 1;
    tellNotices();
  });
  subscription.on('caughtUp', () => notice(() => subscriber.caughtUp?.()));
  subscription.on('error', subscriber.ended);
  subscription.on('end', () => subscriber.ended(new Error('the server ended the subscription')));
}
