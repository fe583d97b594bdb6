import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { bodyOf } from '../../../../projections/projection.ts';
import { recordsModel } from '../../../../projections/records.ts';
import type { Position } from '../../../domain/events/event.ts';
import { erasureStep } from '../../../domain/events/recordErased.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import type { ReadModels } from '../../../storage/readModels.ts';

const REMEMBERED = 100_000;
/** How often erasures are polled: following the whole log would slow down every request. */
const POLL_MS = 200;

/**
 * Tells whether records exist. A positive answer is remembered until the record is erased, which is noticed within a second
 * wherever it happened. The read model may lag or be unreachable: for a record that it does not have, or that it may have only
 * because it lacks the erasure, the record's stream is read instead.
 */
export class RecordExistence {
  readonly #eventLog: EventLog;
  readonly #readModels: ReadModels;
  /** Number of erasures noticed. */
  #erasures = 0;
  readonly #known = new LRUCache<string, true>({ max: REMEMBERED });
  /** Records whose erasure was noticed, which the read model may lack. */
  readonly #erased = new LRUCache<string, true>({ max: REMEMBERED });
  /** The end of the log when erasures began to be noticed; undefined once the read model has all that were before. */
  #unnoticed: Position | undefined;
  /** Callers waiting for a record, by stream. */
  readonly #awaited = new Map<string, Set<() => void>>();

  constructor(eventLog: EventLog, readModels: ReadModels) {
    this.#eventLog = eventLog;
    this.#readModels = readModels;
  }

  /**
   * Forgets records erased from now on, until the signal; while the event log is unreachable, forgets nothing. Rejects with
   * `unavailable`.
   */
  async followErasures(signal: AbortSignal): Promise<void> {
    let { place } = await this.#eventLog.removals();
    this.#unnoticed = await this.#eventLog.head();
    const follow = async () => {
      for (;;) {
        await sleep(POLL_MS, undefined, { signal });
        const removals = await this.#eventLog.removals(place).catch(() => undefined);
        for (const stream of removals?.streams ?? []) this.forget(stream);
        place = removals?.place ?? place;
      }
    };
    follow().catch(() => undefined);
  }

  /** Whether a record is known to exist, without any lookup. */
  isKnown(stream: string): boolean {
    return this.#known.has(stream);
  }

  /** Notes that a record exists, as known by its writer. */
  remember(stream: string): void {
    this.#known.set(stream, true);
    for (const wake of this.#awaited.get(stream) ?? []) wake();
  }

  /**
   * Resolves when this process learns that one of these records exists, after `ms` milliseconds at the latest, or at the signal.
   */
  async remembered(streams: Iterable<string>, ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => resolve();
    const all = [...streams];
    for (const stream of all) this.#awaited.set(stream, (this.#awaited.get(stream) ?? new Set()).add(wake));
    const timer = setTimeout(wake, ms);
    signal.addEventListener('abort', wake);
    await promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', wake);
    for (const stream of all) {
      const waiting = this.#awaited.get(stream);
      waiting?.delete(wake);
      if (waiting?.size === 0) this.#awaited.delete(stream);
    }
  }

  /** Notes that a record was erased. */
  forget(stream: string): void {
    this.#erasures += 1;
    this.#known.delete(stream);
    this.#erased.set(stream, true);
  }

  /** Returns which of these streams do not exist. Rejects with `unavailable` when the log cannot be read. */
  async missing(streams: string[]): Promise<Set<string>> {
    const unknown = streams.filter((stream) => !this.#known.has(stream));
    if (unknown.length === 0) return new Set();
    const erasures = this.#erasures;
    const projected = await this.#projected(unknown.filter((stream) => !this.#erased.has(stream)));
    const missing = new Set<string>();
    await Promise.all(
      unknown.map(async (stream) => {
        const exists = projected.has(stream) || (await this.#onLog(stream));
        if (!exists) missing.add(stream);
        // Otherwise it may have been erased since the lookup.
        else if (erasures === this.#erasures) this.remember(stream);
      }),
    );
    return missing;
  }

  async #projected(streams: string[]): Promise<Set<string>> {
    try {
      if (!(await this.#hasEarlierErasures())) return new Set();
      const rows = await this.#readModels.load(recordsModel, streams);
      return new Set(rows.filter((row) => bodyOf(row)?.erased !== true).map(({ id }) => id));
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'unavailable') return new Set();
      throw error;
    }
  }

  /** Whether the read model has the erasures from before they were noticed here. */
  async #hasEarlierErasures(): Promise<boolean> {
    if (this.#unnoticed === undefined) return true;
    if ((await this.#readModels.checkpoint(recordsModel)) < this.#unnoticed) return false;
    this.#unnoticed = undefined;
    return true;
  }

  async #onLog(stream: string): Promise<boolean> {
    const events = await this.#eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
    return events.some((event) => erasureStep(event) !== 'done');
  }
}
