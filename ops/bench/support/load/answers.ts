import { percentile } from '../statistics.ts';
import type { Load } from './measuringProcess.ts';

/** Collects the responses to this process's own requests, from its creation until `close`. */
export class Answers {
  #latencies = new Float64Array(1 << 16);
  #count = 0;
  readonly #openedAt = performance.now();
  readonly #cpu = process.cpuUsage();

  /** Notes a response and how many milliseconds it took. */
  add(latency: number): void {
    if (this.#count === this.#latencies.length) {
      const larger = new Float64Array(this.#latencies.length * 2);
      larger.set(this.#latencies);
      this.#latencies = larger;
    }
    this.#latencies[this.#count++] = latency;
  }

  /** The number of responses so far, including those since `close`. */
  get count(): number {
    return this.#count;
  }

  /** Returns the figures so far. Throws when nothing was answered. */
  close(): Load {
    const milliseconds = performance.now() - this.#openedAt;
    const { user, system } = process.cpuUsage(this.#cpu);
    const latencies = this.#latencies.subarray(0, this.#count).sort();
    return loadOf({
      latencies,
      milliseconds,
      clientMicroseconds: user + system,
      endedAt: Date.now(),
    });
  }
}

/** What a client noted about a load. */
export interface Noted {
  /** Milliseconds, sorted. */
  latencies: Float64Array;
  milliseconds: number;
  /** Processor time of the client. */
  clientMicroseconds: number;
  endedAt: number;
}

/**
 * Returns the figures of what was noted, where everything that was sent was answered. Throws when that is nothing.
 */
export function loadOf({ latencies, milliseconds, clientMicroseconds, endedAt }: Noted): Load {
  const requests = latencies.length;
  if (requests === 0) throw new Error('nothing was answered');
  return {
    requests,
    sent: requests,
    endedAt,
    perSecond: (requests * 1000) / milliseconds,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    clientCpu: clientMicroseconds / requests,
    clientBusy: clientMicroseconds / 1000 / milliseconds,
  };
}
