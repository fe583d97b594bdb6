import type { Connection } from './Connection.ts';
import { Records } from './Records.ts';
import { type List, readPages } from './readPages.ts';
import type {
  CallOptions,
  EncounterReadiness,
  ReadinessQuery,
  Worklist,
  WorklistItem,
  WorklistQuery,
} from './types.ts';

/** The encounters, of which the service also says whether they can be billed. */
export class Encounters extends Records<'encounter'> {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    super(connection, 'encounter');
    this.#connection = connection;
  }

  /**
   * Whether an encounter can be billed, or could be at a moment; what is in the way, since when, and by which write. Rejects with
   * the code `not_found`, or `gone` when it was erased.
   */
  readiness(
    id: string,
    { signal, ...query }: CallOptions & ReadinessQuery = {},
  ): Promise<EncounterReadiness> {
    return this.#connection.call(
      (api) => api.GET('/integration/encounters/{id}/readiness', { params: { path: { id }, query } }),
      { signal },
    );
  }

  /** All encounters with what is in the way of billing them, or those that are asked for; `limit` is how many are fetched at once. */
  worklist({ signal, ...query }: CallOptions & WorklistQuery = {}): List<WorklistItem, Worklist> {
    return readPages(
      this.#connection,
      (api, place) => api.GET('/integration/readiness', { params: { query: { ...query, ...place } } }),
      { signal },
    );
  }
}
