import { setTimeout as sleep } from 'node:timers/promises';
import { eventTypeFilter, type Filter, streamNameFilter } from '@eventstore/db-client';
import { ServiceError } from '../../errors.ts';
import type { RecordedEvent } from '../../events/event.ts';
import type { EventBatch, EventFilter, FollowOptions } from '../../ports/eventLog.ts';
import { positionUnknown } from '../../ports/eventLogRefusals.ts';
import { Inbox } from './Inbox.ts';
import { type LiveTail, userStreams } from './LiveTail.ts';
import type { LogReader } from './LogReader.ts';
import { subscribe } from './subscribe.ts';

const LONGEST_PAUSE_MS = 1_000;
/** Events that the server looks at between two checkpoints; its default of 32 makes sparse filters slow. */
const SEARCH_WINDOW = 500;

interface Source {
  reader: LogReader;
  tail: LiveTail;
}

/**
 * Follows the log: a filtered subscription of its own catches up until the tail, which all followers share, takes
 * over. Whatever ends either of them, the follower goes on from its last position.
 */
export async function* follow(
  source: Source,
  { after, filter, signal }: FollowOptions,
): AsyncGenerator<EventBatch> {
  const wants = matcher(filter);
  let position = after;
  let announced = false;
  let failures = 0;
  source.tail.enter();
  try {
    while (!signal.aborted) {
      const inbox = new Inbox(position, wants);
      const end = () => inbox.end();
      signal.addEventListener('abort', end, { once: true });
      fill(inbox, source, filter).catch((error) => inbox.end(error));
      try {
        for await (const batch of inbox) {
          if (signal.aborted) return;
          failures = 0;
          if (batch.position === position && (announced || !batch.caughtUp)) continue;
          position = batch.position;
          announced = batch.caughtUp;
          yield batch;
        }
      } finally {
        signal.removeEventListener('abort', end);
        inbox.end();
      }
      if (inbox.error === undefined) continue;
      if (inbox.error instanceof ServiceError && inbox.error.code === 'validation_failed') throw inbox.error;
      const pause = Math.min(10 * 2 ** failures, LONGEST_PAUSE_MS);
      failures += 1;
      await sleep(pause, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    source.tail.leave();
  }
}

async function fill(inbox: Inbox, { reader, tail }: Source, filter: EventFilter | undefined): Promise<void> {
  if (inbox.position > 0) {
    // A server resumes after the first event at or beyond the given place. Where the event of that place is gone
    // (scavenged), that would pass over the one behind it.
    const first = await reader.firstEntry(inbox.position);
    if (first === undefined) throw positionUnknown();
    inbox.push(first);
  }
  await tail.started();
  const head = await reader.head();
  if (inbox.ended) return;
  if (tail.covers(inbox.position)) {
    tail.join(inbox);
    inbox.live(head);
  } else {
    catchUp(inbox, { reader, tail }, filter);
  }
}

/**
 * Pushes what is wanted until the tail covers the rest. How far the log is was known before the subscription began,
 * and it tells `caughtUp` only after all that the log held by then: so nothing wanted is left up to that place.
 */
function catchUp(inbox: Inbox, { reader, tail }: Source, filter: EventFilter | undefined): void {
  const known = tail.position;
  const unsubscribe = subscribe(reader.client, inbox.position, serverFilter(filter), {
    entry(entry) {
      inbox.push(entry);
      if (tail.covers(inbox.position)) inbox.end();
    },
    caughtUp() {
      inbox.push({ position: known, event: undefined });
      inbox.end();
    },
    ended: (error) => inbox.end(error),
  });
  inbox.atEnd(unsubscribe);
}

/** Filters on the server, which knows prefixes only: a type is also the prefix of longer types. */
function serverFilter(filter: EventFilter | undefined): Filter {
  const window = { maxSearchWindow: SEARCH_WINDOW, checkpointInterval: 1 };
  if (filter && 'eventTypes' in filter && filter.eventTypes.length > 0) {
    return eventTypeFilter({ ...window, prefixes: filter.eventTypes });
  }
  if (filter && 'streamPrefixes' in filter && filter.streamPrefixes.length > 0) {
    return streamNameFilter({ ...window, prefixes: filter.streamPrefixes });
  }
  return streamNameFilter({ ...window, ...userStreams });
}

function matcher(filter: EventFilter | undefined): (event: RecordedEvent) => boolean {
  if (filter === undefined) return () => true;
  if ('eventTypes' in filter) {
    const types = new Set(filter.eventTypes);
    return ({ type }) => types.has(type);
  }
  return ({ stream }) => filter.streamPrefixes.some((prefix) => stream.startsWith(prefix));
}
