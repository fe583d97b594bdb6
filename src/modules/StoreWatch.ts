import type { Logger } from 'pino';
import { describeError, ServiceError } from '../platform/errors.ts';
import type { DocumentStore } from '../storage/documentStore.ts';
import type { EventLog } from '../storage/eventLog.ts';
import type { ReadModels } from '../storage/readModels.ts';
import type { StateStore } from '../storage/stateStore.ts';

export interface WatchedStores {
  eventLog: EventLog;
  readModels: ReadModels;
  stateStore: StateStore;
  documentStore: DocumentStore;
}

export type StoreState = 'ok' | 'unavailable';

/** The stores, in the order in which they are reported. */
export const storeNames = ['event_log', 'read_models', 'state_store', 'document_store'] as const;

export type StoreName = (typeof storeNames)[number];

export type StoreStates = Record<StoreName, StoreState>;

/** How often it checks on its own. */
const LOOK_MS = 10_000;
/** How long a result is reused for callers. */
const FRESH_MS = 500;

/**
 * Monitors the stores. A store that becomes unavailable, for a reason not reported yet, is logged as an error with what operators
 * can do; its recovery is logged, too.
 */
export class StoreWatch {
  readonly #checks: Record<StoreName, () => Promise<unknown>>;
  readonly #logger: Logger;
  readonly #timer: NodeJS.Timeout;
  /** What was reported of the unavailable stores. */
  readonly #told = new Map<StoreName, string>();
  #last: { states: Promise<StoreStates>; at: number } | undefined;

  constructor({ eventLog, readModels, stateStore, documentStore }: WatchedStores, logger: Logger) {
    this.#checks = {
      event_log: () => eventLog.check(),
      read_models: () => readModels.checkpoint('ready'),
      state_store: () => stateStore.check(),
      document_store: () => documentStore.check(),
    };
    this.#logger = logger;
    this.#timer = setInterval(() => this.states(), LOOK_MS);
  }

  /** Returns the states of the stores, as of at most half a second ago. Never rejects. */
  states(): Promise<StoreStates> {
    const now = performance.now();
    if (this.#last === undefined || now - this.#last.at > FRESH_MS) {
      const states = this.#look().finally(() => {
        if (this.#last) this.#last.at = performance.now();
      });
      this.#last = { states, at: Number.POSITIVE_INFINITY };
    }
    return this.#last.states;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<StoreStates> {
    const states = await Promise.all(storeNames.map(async (store) => [store, await this.#stateOf(store)]));
    return Object.fromEntries(states);
  }

  async #stateOf(store: StoreName): Promise<StoreState> {
    try {
      await this.#checks[store]();
    } catch (error) {
      this.#tell(store, error);
      return 'unavailable';
    }
    if (this.#told.delete(store)) this.#logger.info({ store }, 'a store is available again');
    return 'ok';
  }

  #tell(store: StoreName, error: unknown): void {
    const told = this.#told.get(store);
    const known = error instanceof ServiceError ? error.problem : undefined;
    const problem = known ?? told ?? 'It does not answer.';
    if (problem === told) return;
    this.#told.set(store, problem);
    this.#logger.error({ store, problem, error: describeError(error) }, 'a store is unavailable');
  }
}
