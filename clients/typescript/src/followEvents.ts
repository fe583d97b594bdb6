import { ChartledgerError } from './ChartledgerError.ts';
import type { Connection } from './Connection.ts';
import { backoffSeconds, pause } from './pause.ts';
import { readServerSentEvents, type ServerSentEvent } from './readServerSentEvents.ts';
import type { CallOptions, ChartledgerEvent, EventsQuery, EventType, Kind, View } from './types.ts';

/** The service sends something at least every 15 seconds. */
const SILENCE_SECONDS = 45;

/** Where the position of a reader is kept: a file, a row, best beside what is made of the events. */
export interface Checkpoint {
  /** The position that was saved last; undefined or null at first. */
  load(): Promise<string | null | undefined> | string | null | undefined;
  /** Keeps a position. Everything up to it has been taken. */
  save(position: string): Promise<void> | void;
}

/** What else the stream can be asked for. */
type FurtherQuery = Omit<EventsQuery, 'after' | 'from' | 'kinds' | 'types' | 'view' | 'limit' | 'wait'>;

export interface EventsOptions<V extends View = 'full'> extends CallOptions, FurtherQuery {
  /** Begin after this position (the `sequence` of an event), unless the checkpoint has one. Default: with the first event. */
  after?: string;
  /** Begin with the first event recorded at this moment (ISO 8601) or later, unless the checkpoint has a position. */
  from?: string;
  /** Only events of these kinds. */
  kinds?: (Kind | 'document' | 'readiness')[];
  /** Only events of these types. */
  types?: EventType[];
  view?: V;
  /** Loaded at the beginning; saved when an event was taken, which is when the next one is asked for. */
  checkpoint?: Checkpoint;
  /** Told why the connection was lost, each time before it is made again. */
  onInterruption?: (error: ChartledgerError) => void;
}

/**
 * The events of the workspace, and each further one as it is recorded, for as long as the caller stays: a connection that is lost is
 * made again from the last position. Ends when the signal is aborted. Rejects with what connecting again does not mend, such as a
 * deactivated key or a status of 500 that comes again after `maxRetries`, and as the checkpoint does.
 */
export async function* followEvents<V extends View = 'full'>(
  connection: Connection,
  options: EventsOptions<V> = {},
): AsyncGenerator<ChartledgerEvent<V>, void, undefined> {
  const { checkpoint } = options;
  const saved = (await checkpoint?.load()) ?? undefined;
  for await (const { id, data } of messages(connection, options, saved)) {
    if (data !== undefined) yield JSON.parse(data) as ChartledgerEvent<V>;
    if (id !== undefined) await checkpoint?.save(id);
  }
}

/** The messages of one connection after the other, each beginning where the one before it ended. */
async function* messages(
  connection: Connection,
  options: EventsOptions<View>,
  saved: string | undefined,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const { signal, onInterruption } = options;
  let position = saved;
  let defects = 0;
  for (let failures = 1; ; failures += 1) {
    try {
      for await (const message of readServerSentEvents(
        await open(connection, options, position),
        SILENCE_SECONDS,
        signal,
      )) {
        // Some messages may have arrived before.
        if (signal?.aborted) return;
        failures = 1;
        defects = 0;
        position = message.id ?? position;
        yield message;
      }
      throw ChartledgerError.noAnswer('the stream has ended');
    } catch (error) {
      if (signal?.aborted) return;
      const interruption = error instanceof ChartledgerError ? error : ChartledgerError.noAnswer(error);
      if (!interruption.retryable) throw interruption;
      // An outage passes, and proxies answer it otherwise.
      defects = interruption.status === 500 ? defects + 1 : 0;
      if (defects > connection.maxRetries) throw interruption;
      onInterruption?.(interruption);
      const seconds = Math.max(interruption.retryAfter ?? 0, backoffSeconds(failures));
      await pause(seconds, signal).catch(() => undefined);
      if (signal?.aborted) return;
    }
  }
}

async function open(
  connection: Connection,
  options: EventsOptions<View>,
  position = options.after,
): Promise<ReadableStream<Uint8Array>> {
  const { signal, checkpoint, onInterruption, after, from, kinds, types, ...further } = options;
  const query = {
    ...further,
    ...(kinds && { kinds: kinds.join() }),
    ...(types && { types: types.join() }),
    ...(position !== undefined ? { after: position } : from !== undefined && { from }),
  };
  const { data } = await connection.attempt(
    (api) =>
      api.GET('/events', { params: { query }, headers: { Accept: 'text/event-stream' }, parseAs: 'stream' }),
    { signal },
  );
  return data as ReadableStream<Uint8Array>;
}
