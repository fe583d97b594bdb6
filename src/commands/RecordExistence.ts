import { LRUCache } from 'lru-cache';
import { recordsModel } from '../../projections/records.ts';
import { ServiceError } from '../errors.ts';
import type { EventLog } from '../ports/eventLog.ts';
import type { ReadModels } from '../ports/readModels.ts';

const REMEMBERED = 100_000;

/**
 * Answers whether records exist. A record once made exists for ever, so a yes is remembered; a no of the read model,
 * which may lag or be away, is never believed: the record's stream is asked.
 */
export class RecordExistence {
  readonly #eventLog: EventLog;
  readonly #readModels: ReadModels;
  readonly #known = new LRUCache<string, true>({ max: REMEMBERED });

  constructor(eventLog: EventLog, readModels: ReadModels) {
    this.#eventLog = eventLog;
    this.#readModels = readModels;
  }

  /** Notes that a record exists, as its writer knows. */
  remember(stream: string): void {
    this.#known.set(stream, true);
  }

  /** Which of these streams do not exist. Rejects with `unavailable` when the log cannot be asked. */
  async missing(streams: string[]): Promise<Set<string>> {
    const unknown = streams.filter((stream) => !this.#known.has(stream));
    if (unknown.length === 0) return new Set();
    const projected = await this.#projected(unknown);
    const missing = new Set<string>();
    await Promise.all(
      unknown.map(async (stream) => {
        const exists = projected.has(stream) || (await this.#onLog(stream));
        if (exists) this.remember(stream);
        else missing.add(stream);
      }),
    );
    return missing;
  }

  async #projected(streams: string[]): Promise<Set<string>> {
    try {
      return await this.#readModels.existing(recordsModel, streams);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'unavailable') return new Set();
      throw error;
    }
  }

  async #onLog(stream: string): Promise<boolean> {
    const events = await this.#eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
    return events.length > 0;
  }
}
