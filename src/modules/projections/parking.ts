import { modelName, type Projection, readinessModel } from '../../../projections/projection.ts';
import type { RecordedEvent } from '../../domain/events/event.ts';
import { describeError, unreadablePlace } from '../../platform/errors.ts';
import { isRebuildRequest, requestRebuild } from './checkpoints.ts';
import {
  canRetryParked,
  type ProjectorMessage,
  type ProjectorPorts,
  rebuildProjection,
} from './projector.ts';

type Parked = ProjectorMessage & { kind: 'parked' };

const FIRST_MS = 1_000;
const NEXT_MS = 60_000;

/**
 * Counts parked events by read model and cause, and reports each count: a second after the first event, and from then
 * on at most once a minute.
 */
export class ParkedTally {
  readonly #report: (message: Parked) => void;
  readonly #counts = new Map<string, { parked: Parked; timer: NodeJS.Timeout }>();

  constructor(report: (message: Parked) => void) {
    this.#report = report;
  }

  add(model: string, event: Pick<RecordedEvent, 'id' | 'stream' | 'position'>, thrown: unknown): void {
    const error = describeError(thrown);
    const cause = JSON.stringify([model, error]);
    const first = { eventId: event.id, ...unreadablePlace(event) };
    const known = this.#counts.get(cause);
    if (known === undefined) {
      const parked: Parked = { kind: 'parked', model, events: 1, ...first, error };
      this.#counts.set(cause, { parked, timer: setTimeout(() => this.#countParked(cause), FIRST_MS) });
      return;
    }
    // Of those reported together, the place of the first one.
    if (known.parked.events === 0) Object.assign(known.parked, first);
    known.parked.events += 1;
  }

  /** Reports what has not been reported yet. */
  close(): void {
    for (const { parked, timer } of this.#counts.values()) {
      clearTimeout(timer);
      if (parked.events > 0) this.#report(parked);
    }
    this.#counts.clear();
  }

  #countParked(cause: string): void {
    const count = this.#counts.get(cause);
    if (count === undefined) return;
    if (count.parked.events === 0) {
      this.#counts.delete(cause);
      return;
    }
    this.#report({ ...count.parked });
    count.parked.events = 0;
    count.timer = setTimeout(() => this.#countParked(cause), NEXT_MS);
  }
}

/**
 * Rebuilds the read models that an earlier version of the service kept when it met events that only this one can
 * read; they continue to serve meanwhile. The worklist of readiness, which is based on them, is then built anew. Rejects when a store
 * cannot be reached.
 */
export async function retryParked(
  projections: readonly Projection[],
  ports: ProjectorPorts,
  signal: AbortSignal,
): Promise<void> {
  const { readModels } = ports;
  for (const projection of projections) {
    const parked = await readModels.parked(modelName(projection));
    const retryable = parked.find(({ reason }) => canRetryParked(reason));
    if (retryable === undefined) continue;
    // Noted beforehand, as nothing else would tell of it after an interruption.
    await readModels.park(readinessModel, retryable);
    await rebuildProjection(projection, ports, signal, true);
  }
  const lacked = await readModels.parked(readinessModel);
  // A rebuild that was requested already may be under way.
  if (lacked.length > 0 && !lacked.some(isRebuildRequest)) await requestRebuild(readModels, readinessModel);
}
