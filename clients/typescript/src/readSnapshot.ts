import { ChartledgerError } from './ChartledgerError.ts';
import type { Connection } from './Connection.ts';
import { readParts } from './readServerSentEvents.ts';
import type { CallOptions, Kind, RecordOf, SnapshotQuery } from './types.ts';

/** The service sends the lines as fast as they are read. */
const SILENCE_SECONDS = 60;

/** A record of a snapshot: the fields as they were sent, merged. In the de-identified view, others are left out. */
export interface SnapshotRecord<K extends Kind> {
  subject: string;
  version: number;
  created_at: string;
  updated_at: string;
  record: Partial<RecordOf<K>>;
}

/** Every record of a kind, to be read once. */
export interface Snapshot<K extends Kind> extends AsyncIterable<SnapshotRecord<K>> {
  /** Continue with the events after it. A record may be newer: skip events whose version is not above its own. */
  readonly position: string;
}

/**
 * Reads every record of a kind. The records reject with the code `no_answer` where they break off, which is to be read again, and at
 * the end with `unreadable` where the service could not read some: a snapshot that ends otherwise is complete.
 */
export async function readSnapshot<K extends Kind>(
  connection: Connection,
  kind: K,
  { signal, ...query }: CallOptions & SnapshotQuery,
): Promise<Snapshot<K>> {
  const { data, response } = await connection.send(
    (api) => api.GET('/integration/snapshot', { params: { query: { kind, ...query } }, parseAs: 'stream' }),
    { signal },
  );
  const position = response.headers.get('chartledger-position');
  if (position === null) throw ChartledgerError.noAnswer(new Error('the response has no position'));
  const records = recordsIn<K>(data as ReadableStream<Uint8Array>, signal);
  return { position, [Symbol.asyncIterator]: () => records };
}

async function* recordsIn<K extends Kind>(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<SnapshotRecord<K>, void, undefined> {
  try {
    for await (const text of readParts(stream, '\n', SILENCE_SECONDS, signal)) {
      const line = JSON.parse(text);
      if (line.record !== undefined) yield line;
      if (line.end?.unreadable > 0) throw ChartledgerError.unreadable([], line.end.unreadable);
      if (line.end !== undefined) return;
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw error instanceof ChartledgerError ? error : ChartledgerError.noAnswer(error);
  }
  throw ChartledgerError.noAnswer(new Error('the snapshot was cut off'));
}
