import { type Answer, type Api, type ChartledgerOptions, Connection } from './Connection.ts';
import { Documents } from './Documents.ts';
import { Encounters } from './Encounters.ts';
import { type EventsOptions, followEvents } from './followEvents.ts';
import { Records } from './Records.ts';
import { searchRecords } from './searchRecords.ts';
import { type BatchOptions, sendBatch } from './sendBatch.ts';
import type {
  BatchLine,
  BatchResult,
  CallOptions,
  ChartledgerEvent,
  Found,
  SearchQuery,
  View,
} from './types.ts';

/**
 * A workspace of a Chartledger service, by one of its API keys. Calls reject with `ChartledgerError`. Those that were not answered,
 * or not now (429, 503), are sent again with the same `Idempotency-Key`, so that they are carried out once.
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

  /** Finds records and documents by names, dates of birth, ids and numbers; see `searchRecords`. */
  search(q: string, options: CallOptions & SearchQuery = {}): AsyncIterable<Found> {
    return searchRecords(this.#connection, q, options);
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
}
