import type { Load } from './measuringProcess.ts';
import { percentile } from './statistics.ts';

/** Collects what this process's own requests were answered, from its making until `close`. */
export class Answers {
  #latencies = new Float64Array(1 << 16);
  #count = 0;
  readonly #openedAt = performance.now();
  readonly #cpu = process.cpuUsage();

  /** Notes an answer and how many milliseconds it took. */
  add(latency: number): void {
    if (this.#count === this.#latencies.length) {
      const larger = new Float64Array(this.#latencies.length * 2);
      larger.set(this.#latencies);
      this.#latencies = larger;
    }
    this.#latencies[this.#count++] = latency;
  }

  /** `unanswered`: how many were sent besides. Throws when nothing was answered. */
  close(unanswered: number): Load {
    const milliseconds = performance.now() - this.#openedAt;
    const { user, system } = process.cpuUsage(this.#cpu);
    const sorted = this.#latencies.subarray(0, this.#count).sort();
    return loadOf(sorted, unanswered, milliseconds, user + system);
  }
}

/** Figures of sorted latencies. Throws when there is none. */
export function loadOf(
  sorted: ArrayLike<number>,
  unanswered: number,
  milliseconds: number,
  clientMicroseconds: number,
): Load {
  if (sorted.length === 0) throw new Error('nothing was answered');
  return {
    requests: sorted.length,
    sent: sorted.length + unanswered,
    perSecond: (sorted.length * 1000) / milliseconds,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    clientCpu: clientMicroseconds / sorted.length,
    clientBusy: clientMicroseconds / 1000 / milliseconds,
  };
}
