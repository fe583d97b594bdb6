import { LRUCache } from 'lru-cache';
import type { RecordedEvent } from '../../domain/events/event.ts';
import { asUnreadable, UnreadableError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';

/** Number of streams remembered. */
const REMEMBERED = 100_000;

/** Tells which events were erased after they were read: what is in memory of them is neither sent nor kept. */
export class ErasedEvents {
  readonly #eventLog: Pick<EventLog, 'removals' | 'readStream'>;
  /** Those of which something was erased. */
  readonly #streams = new LRUCache<string, true>({ max: REMEMBERED });
  #place: number | undefined;

  constructor(eventLog: Pick<EventLog, 'removals' | 'readStream'>) {
    this.#eventLog = eventLog;
  }

  /** Notes what was erased since the last call, unless the log is unreachable; the first call only finds where to begin. */
  async look(): Promise<void> {
    const removals = await this.#eventLog.removals(this.#place).catch(() => undefined);
    if (removals === undefined) return;
    for (const stream of removals.streams) this.#streams.set(stream, true);
    this.#place = Math.max(this.#place ?? 0, removals.place);
  }

  /** Whether an event that was read earlier is among what was noted. Rejects with `unavailable`. */
  async has({ stream, revision }: Pick<RecordedEvent, 'stream' | 'revision'>): Promise<boolean> {
    if (!this.#streams.has(stream)) return false;
    const found = await this.#eventLog.readStream(stream, { from: revision, limit: 1 }).catch(asUnreadable);
    return !(found instanceof UnreadableError) && found[0]?.revision !== revision;
  }
}
