import { z } from 'zod';
import type { Position } from '../../domain/events/event.ts';
import { erasureStep, tombstoneTypes } from '../../domain/events/recordErased.ts';
import { unavailable } from '../../platform/errors.ts';
import type { EventBatch, EventLog } from '../../storage/eventLog.ts';
import type { HeadTarget } from '../../storage/headTarget.ts';
import type { StateStore, StateTable } from '../../storage/stateStore.ts';
import type { SigningKey } from '../integrity/SigningKey.ts';
import { type NoticedErasure, signNotice } from './erasureNotice.ts';
import { whatBecameOf } from './whatBecameOf.ts';

/** How far notices were sent for each log, by the log's identity. If this is lost, all are sent again. */
export const noticesTable: StateTable<{ position: Position }> = {
  name: 'erasure_notices_v1',
  body: z.object({ position: z.number() }),
};
/** Maximum number of erasures in a notice. */
const MOST = 1_000;
/** The log itself waits for a store that is unreachable. */
const STALLED_MS = 30_000;

export interface NoticePorts {
  eventLog: EventLog;
  stateStore: StateStore;
  target: HeadTarget;
}

/**
 * Informs a place outside the service of every completed erasure, so that an older backup does not bring back erased data. Each
 * notice begins where the previous one ended, so that a missing one is noticed.
 */
export class ErasureNotices {
  readonly #ports: NoticePorts;
  /** The log was checked up to here, and everything to report was reported. */
  #looked: Position = 0;

  constructor(ports: NoticePorts) {
    this.#ports = ports;
  }

  /**
   * Sends notices of the erasures completed since the last notice; if there are none but the log has grown, and one `isDue`,
   * sends a notice that says so. An erasure under way holds up those after it. Rejects with `unavailable`, and with `unreadable`.
   */
  async send(signingKey: SigningKey, isDue: boolean): Promise<void> {
    const { eventLog } = this.#ports;
    const log = await eventLog.identity();
    let after = await this.#noticed(log);
    let erasures: NoticedErasure[] = [];
    const notice = async (until: Position, as_of: string) => {
      await this.#send({ log, after, until, as_of, erasures }, signingKey);
      after = until;
      erasures = [];
    };
    const now = new Date().toISOString();
    const isLooked = this.#looked > after && (await eventLog.hasPosition(this.#looked));
    let reached = isLooked ? this.#looked : after;
    for await (const batch of tombstones(eventLog, reached)) {
      for (const event of batch.events) {
        if (erasureStep(event) !== 'done') continue;
        const became = await whatBecameOf(eventLog, event);
        if (became === 'under way') {
          const last = erasures.at(-1);
          if (last) await notice(last.tombstone, last.erased_at);
          return;
        }
        if (became === 'none') continue;
        erasures.push(became);
        if (erasures.length === MOST) await notice(became.tombstone, became.erased_at);
      }
      reached = batch.position;
    }
    if (erasures.length > 0 || (isDue && reached > after)) await notice(reached, now);
    this.#looked = reached;
  }

  /**
   * The position up to which notices were sent; 0 when it is not a position of the log, which was then restored to an earlier
   * state.
   */
  async #noticed(log: string): Promise<Position> {
    const { eventLog, stateStore } = this.#ports;
    const [row] = await stateStore.load(noticesTable, [log]);
    if (row === undefined) return 0;
    if (await eventLog.hasPosition(row.body.position)) return row.body.position;
    await stateStore.remove(noticesTable, [log], row.revision);
    return 0;
  }

  async #send(notice: Parameters<typeof signNotice>[0], signingKey: SigningKey): Promise<void> {
    const { stateStore, target } = this.#ports;
    const { name, text } = signNotice(notice, signingKey);
    await target.keep(name, text);
    const { log: id, until: position } = notice;
    await stateStore.save(noticesTable, [
      { id, partition: id, order: 0, revision: position, body: { position } },
    ]);
  }
}

/** Yields batches of tombstones after a position, up to the log's end. */
async function* tombstones(eventLog: EventLog, after: Position): AsyncGenerator<EventBatch> {
  const signal = AbortSignal.timeout(STALLED_MS);
  const filter = { eventTypes: [...tombstoneTypes] };
  for await (const batch of eventLog.follow({ after, filter, signal })) {
    yield batch;
    if (batch.caughtUp) return;
  }
  throw unavailable('event log');
}
