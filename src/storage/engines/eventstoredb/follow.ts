import { setTimeout as sleep } from 'node:timers/promises';
import type { Filter } from '@eventstore/db-client';
import type { Position, UnreadableEvent } from '../../../domain/events/event.ts';
import { isBookkeeping } from '../../../domain/events/streamNames.ts';
import type { EventBatch, EventFilter, FollowOptions } from '../../eventLog.ts';
import { positionUnknown } from '../../eventLogRefusals.ts';
import { lastingRefusal } from './drivers/attempt.ts';
import { ErasedPlaces } from './ErasedPlaces.ts';
import type { Erasures } from './Erasures.ts';
import { Inbox } from './Inbox.ts';
import type { LiveTail } from './LiveTail.ts';
import type { LogReader } from './LogReader.ts';
import { eventTypes, streamNames, userStreams } from './streamFilters.ts';
import { subscribe } from './subscribe.ts';

const LONGEST_PAUSE_MS = 1_000;
/** Number of events that the server examines between two checkpoints; its default of 32 makes sparse filters slow. */
const SEARCH_WINDOW = 500;
const ANCHOR_PAGE = 500;

interface Source {
  reader: LogReader;
  erasures: Erasures;
  tail: LiveTail;
}

/**
 * Follows the log: a filtered subscription of its own catches up until the tail, shared by all followers, takes over. Whatever
 * ends either of them, the follower continues from its last position, unless it is a refusal that repeats do not change.
 */
export async function* follow(source: Source, options: FollowOptions): AsyncGenerator<EventBatch> {
  const { signal, filter } = options;
  const wants = matcher(filter);
  const told = teller(source, options);
  let position = options.after;
  let announced = false;
  let failures = 0;
  source.tail.enter();
  try {
    while (!signal.aborted) {
      const inbox = new Inbox(position, (event) => wants(event) && !source.erasures.has(event));
      const end = () => inbox.end();
      signal.addEventListener('abort', end, { once: true });
      fill(inbox, source, filter).catch((error) => inbox.end(error));
      let failure: unknown;
      try {
        for await (const batch of told(inbox, position)) {
          if (signal.aborted) return;
          failures = 0;
          if (batch.position === position && (announced || !batch.caughtUp)) continue;
          position = batch.position;
          announced = batch.caughtUp;
          yield batch;
        }
      } catch (error) {
        failure = error;
      } finally {
        signal.removeEventListener('abort', end);
        inbox.end();
      }
      failure ??= inbox.error;
      if (failure === undefined) continue;
      const refusal = lastingRefusal(failure);
      if (refusal) throw refusal;
      const pause = Math.min(10 * 2 ** failures, LONGEST_PAUSE_MS);
      failures += 1;
      await sleep(pause, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    source.tail.leave();
  }
}

/**
 * Converts an inbox's batches to what a follower is told: without what has been erased since, and, if requested, with where that
 * was.
 */
function teller({ erasures }: Source, { filter, erased }: FollowOptions) {
  const isStream = matcherOfStreams(filter);
  const places = erased ? new ErasedPlaces(erasures, isStream) : undefined;
  return async function* (inbox: Inbox, after: Position): AsyncGenerator<EventBatch> {
    let position = after;
    for await (const batch of inbox) {
      if (places) {
        // What a scavenge removed before the inbox was filled is not in the batch: it must be known to be reported.
        if (!inbox.isLive) await erasures.refresh();
        yield* places.parts(batch, position);
      } else {
        yield { ...batch, events: batch.events.filter((event) => !erasures.has(event)) };
      }
      position = batch.position;
    }
  };
}

async function fill(inbox: Inbox, source: Source, filter: EventFilter | undefined): Promise<void> {
  const { reader, tail, erasures } = source;
  await tail.started();
  // The tail reports later ones.
  await erasures.refresh();
  if (inbox.position > 0) await anchor(inbox, source);
  const [head] = await Promise.all([reader.head(), erasures.refresh()]);
  if (inbox.ended) return;
  // Do not await anything between these: the tail could forget entries, or end.
  if (tail.covers(inbox.position)) {
    tail.join(inbox);
    inbox.live(head);
  } else {
    catchUp(inbox, source, filter);
  }
}

/**
 * Pushes the entries at and after the inbox's position, up to a place that stays. A server resumes after the first event at or
 * beyond the given place: if the event at that place is gone (scavenged), or about to go, that would skip the one after it.
 */
async function anchor(inbox: Inbox, { reader, erasures }: Source): Promise<void> {
  for (let count = 1; !inbox.ended; count = ANCHOR_PAGE) {
    const page = await reader.entriesFrom(inbox.position, count);
    if (page.length === 0) throw positionUnknown();
    for (const entry of page) {
      inbox.push(entry);
      if (entry.lasts && !(entry.event && erasures.has(entry.event))) return;
    }
    if (count > 1 && page.length < count) return;
  }
}

/**
 * Pushes what is wanted until the tail covers the rest. The end of the log was known before the subscription began, and
 * `caughtUp` is reported only after everything that the log held by then: so nothing wanted is left up to that place.
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

/** Returns a filter for the server, which knows only prefixes: a type is also the prefix of longer types. */
function serverFilter(filter: EventFilter | undefined): Filter {
  if (filter && 'eventTypes' in filter && filter.eventTypes.length > 0) {
    return eventTypes(filter.eventTypes, SEARCH_WINDOW);
  }
  if (filter && 'streamPrefixes' in filter && filter.streamPrefixes.length > 0) {
    return streamNames({ prefixes: filter.streamPrefixes }, SEARCH_WINDOW);
  }
  return streamNames(userStreams, SEARCH_WINDOW);
}

function matcher(filter: EventFilter | undefined): (event: Omit<UnreadableEvent, 'id'>) => boolean {
  if (filter && 'eventTypes' in filter) {
    const types = new Set(filter.eventTypes);
    return ({ type, stream }) => types.has(type) && !isBookkeeping(stream);
  }
  const isStream = matcherOfStreams(filter);
  return ({ stream }) => isStream(stream);
}

function matcherOfStreams(filter: EventFilter | undefined): (stream: string) => boolean {
  if (filter === undefined) return () => true;
  if ('eventTypes' in filter) return () => false;
  return (stream) => filter.streamPrefixes.some((prefix) => stream.startsWith(prefix));
}
