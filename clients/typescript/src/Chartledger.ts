import { type Answer, type Api, type ChartledgerOptions, Connection, type Reply } from './Connection.ts';
import { Documents } from './Documents.ts';
import { Encounters } from './Encounters.ts';
import { type EventsOptions, followEvents } from './followEvents.ts';
import { Records } from './Records.ts';
import { type List, readPages } from './readPages.ts';
import { readSnapshot, type Snapshot } from './readSnapshot.ts';
import { type BatchOptions, sendBatch } from './sendBatch.ts';
import type {
  BatchLine,
  BatchResult,
  CallOptions,
  ChartledgerEvent,
  Found,
  Kind,
  SearchQuery,
  SnapshotQuery,
  View,
} from './types.ts';

/**
 * A workspace of a Chartledger service, by one of its API keys. Calls reject with `ChartledgerError`. Those that get no
 * response, or one that may pass (408, 429, 5xx), are sent again with the same `Idempotency-Key`, so that they are carried out once.
 */
export class Chartledger {
  readonly payers: Records<'payer'>;
  readonly patients: Records<'patient'>;
  readonly providers: Records<'provider'>;
  readonly facilities: Records<'facility'>;
  readonly encounters: Encounters;
  readonly documents: Documents;
  readonly #connection: Connection;

  /** Throws `TypeError` when the URL is none, or the key cannot be one. */
  constructor(options: ChartledgerOptions) {
    this.#connection = new Connection(options);
    this.payers = new Records(this.#connection, 'payer');
    this.patients = new Records(this.#connection, 'patient');
    this.providers = new Records(this.#connection, 'provider');
    this.facilities = new Records(this.#connection, 'facility');
    this.encounters = new Encounters(this.#connection);
    this.documents = new Documents(this.#connection);
  }

  /** Upserts many records of all kinds, in any order, and gives what became of each; see `sendBatch`. */
  batch(
    records: Iterable<BatchLine> | AsyncIterable<BatchLine>,
    options: BatchOptions = {},
  ): AsyncIterable<BatchResult> {
    return sendBatch(this.#connection, records, options);
  }

  /**
   * Records and documents that have every word of `q`: names, dates of birth, ids and numbers; what fits best first. `limit` is how
   * many are fetched per request. Each page is one entry of the audit trail.
   */
  search(q: string, { signal, ...query }: CallOptions & SearchQuery = {}): List<Found> {
    return readPages(
      this.#connection,
      (api, place) => api.POST('/integration/search', { body: { q, ...query, ...place } }),
      { signal },
    );
  }

  /** Every record of a kind, and the position after which `events` continues; see `readSnapshot`. */
  snapshot<K extends Kind>(kind: K, options: CallOptions & SnapshotQuery = {}): Promise<Snapshot<K>> {
    return readSnapshot(this.#connection, kind, options);
  }

  /** The events of the workspace and each further one as it is recorded; see `followEvents`. */
  events<V extends View = 'full'>(options: EventsOptions<V> = {}): AsyncIterable<ChartledgerEvent<V>> {
    return followEvents(this.#connection, options);
  }

  /** Any other request of the service: `request((api) => api.GET('/integration/webhooks'))`. */
  request<Data>(
    send: (api: Api) => Promise<Answer<Data>>,
    options: CallOptions & { idempotency_key?: string } = {},
  ): Promise<Data> {
    return this.#connection.call(send, options);
  }

  /** As `request`, with the response, whose headers say more: `(await send(…)).response.headers.get('etag')`. */
  send<Data>(
    send: (api: Api) => Promise<Answer<Data>>,
    options: CallOptions & { idempotency_key?: string } = {},
  ): Promise<Reply<Data>> {
    return this.#connection.send(send, options);
  }
}
