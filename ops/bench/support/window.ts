import type { Measurement } from './measuringProcess.ts';
import { cpuMicroseconds } from './processUsage.ts';
import { percentile } from './statistics.ts';

/** Collects what is answered between `open` and `close`. */
export class Window {
  readonly #pid: number;
  #latencies = new Float64Array(1 << 16);
  #count = 0;
  #isOpen = false;
  #openedAt = 0;
  #serverCpu = 0;
  #clientCpu = 0;

  /** `pid`: the process whose processor time is counted. */
  constructor(pid: number) {
    this.#pid = pid;
  }

  open(): void {
    this.#serverCpu = cpuMicroseconds(this.#pid);
    this.#clientCpu = ownCpu();
    this.#openedAt = performance.now();
    this.#isOpen = true;
  }

  /** Notes an answer and how many milliseconds it took. */
  add(latency: number): void {
    if (!this.#isOpen) return;
    if (this.#count === this.#latencies.length) {
      const larger = new Float64Array(this.#latencies.length * 2);
      larger.set(this.#latencies);
      this.#latencies = larger;
    }
    this.#latencies[this.#count++] = latency;
  }

  close(): Measurement {
    this.#isOpen = false;
    const milliseconds = performance.now() - this.#openedAt;
    const serverCpu = cpuMicroseconds(this.#pid) - this.#serverCpu;
    const clientCpu = ownCpu() - this.#clientCpu;
    if (this.#count === 0) throw new Error('nothing was answered');
    const sorted = this.#latencies.subarray(0, this.#count).sort();
    return {
      perSecond: (this.#count * 1000) / milliseconds,
      p50: percentile(sorted, 0.5),
      p99: percentile(sorted, 0.99),
      serverCpu: serverCpu / this.#count,
      clientCpu: clientCpu / this.#count,
      clientBusy: clientCpu / 1000 / milliseconds,
    };
  }
}

function ownCpu(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
