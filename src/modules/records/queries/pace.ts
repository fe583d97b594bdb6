import type { Position } from '../../../domain/events/event.ts';
import type { ModelName, ReadModels } from '../../../storage/readModels.ts';

/** A pace is that of the last second, once it was observed for a quarter of one. */
const WINDOW_MS = 1_000;
const LEAST_MS = 250;
const SAMPLE_MS = 25;
/** A wait is hopeless if it would take this many times what is left of it: a pace is an estimate. */
const MARGIN = 2;

interface Sample {
  at: number;
  position: Position;
}

/** The pace at which a read model approaches the log, as seen by those who wait for it. */
class CatchUpPace {
  #samples: Sample[] = [];
  #awaited: Position = 0;

  note(position: Position, awaited: Position): void {
    const at = performance.now();
    // It had caught up since, and may have had nothing to do.
    if (position >= this.#awaited) this.#samples = [];
    this.#awaited = Math.max(this.#awaited, awaited);
    const last = this.#samples.at(-1);
    if (last && at - last.at < SAMPLE_MS && position >= last.position) return;
    // One that was not looked at for a while, or was reset, may have stood still.
    const isNew = last === undefined || at - last.at > WINDOW_MS || position < last.position;
    this.#samples = isNew ? [] : this.#samples.filter((sample) => at - sample.at <= WINDOW_MS);
    this.#samples.push({ at, position });
  }

  /** Returns in how many milliseconds it reaches a position; undefined while that cannot be estimated, also where it stands still. */
  msUntil(position: Position): number | undefined {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (!(first && last) || last.at - first.at < LEAST_MS || last.position === first.position)
      return undefined;
    return ((position - last.position) * (last.at - first.at)) / (last.position - first.position);
  }
}

const paces = new WeakMap<ReadModels, Map<ModelName, CatchUpPace>>();

/**
 * Notes which position a read model has reached, and returns the milliseconds that it takes to reach another one, where that is
 * clearly longer than `leftMs`; otherwise undefined.
 */
export function hopelessMs(
  readModels: ReadModels,
  model: ModelName,
  reached: Position,
  position: Position,
  leftMs: number,
): number | undefined {
  const own = paces.get(readModels) ?? new Map<ModelName, CatchUpPace>();
  paces.set(readModels, own);
  const pace = own.get(model) ?? new CatchUpPace();
  own.set(model, pace);
  pace.note(reached, position);
  const ms = pace.msUntil(position);
  return ms !== undefined && ms > MARGIN * leftMs ? ms : undefined;
}
