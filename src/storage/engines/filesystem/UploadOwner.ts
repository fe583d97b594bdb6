import { randomUUID } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from './durableFiles.ts';

export interface OwnerTiming {
  /** How often an owner signals that it is alive. */
  beatMs: number;
  /** How long an owner must have given no sign of life to count as gone. */
  goneAfterMs: number;
}

const timingByDefault: OwnerTiming = { beatMs: 2_000, goneAfterMs: 12_000 };

interface Observation {
  beat: string | undefined;
  /** On this process's monotonic clock. */
  since: number;
}

/**
 * One of the processes that upload into a folder. It signals that it is alive by repeatedly changing a file `owners/<id>`.
 * Process ids would not work, as each container has its own, nor would times, as clocks are adjusted: processes that need to know
 * watch the file on their own clock.
 */
export class UploadOwner {
  readonly id = randomUUID();
  readonly #folder: string;
  readonly #timing: OwnerTiming;
  readonly #observed = new Map<string, Observation>();
  #beats = 0;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | undefined;

  constructor(folder: string, timing: OwnerTiming = timingByDefault) {
    this.#folder = join(folder, 'owners');
    this.#timing = timing;
  }

  /** Signals from now on that it is alive; the first signal is durable. Rejects with the file system's error. */
  async live(): Promise<void> {
    if (this.#timer !== undefined) return;
    await makeFolder(this.#folder);
    await this.#beat();
    this.#timer ??= setInterval(() => {
      // Only one at a time: on a disk that does not answer, they would take all places for file operations of the process.
      this.#beating ??= this.#beatAgain();
    }, this.#timing.beatMs);
    this.#timer.unref();
  }

  /**
   * Whether an owner has shown no sign of life for long enough since this one first asked about it; one that left has no file.
   */
  async isGone(owner: string): Promise<boolean> {
    if (owner === this.id) return false;
    const beat = await readFile(join(this.#folder, owner), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return undefined;
    });
    if (beat === undefined) return true;
    const now = performance.now();
    const before = this.#observed.get(owner);
    if (before?.beat === beat) return now - before.since >= this.#timing.goneAfterMs;
    this.#observed.set(owner, { beat, since: now });
    return false;
  }

  /** Removes what an owner that is gone left behind. */
  async bury(owner: string): Promise<void> {
    this.#observed.delete(owner);
    await rm(join(this.#folder, owner), { force: true });
  }

  /** From now on, its uploads are for others to settle. */
  async leave(): Promise<void> {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#beating;
    await rm(join(this.#folder, this.id), { force: true }).catch(() => undefined);
  }

  async #beatAgain(): Promise<void> {
    // An unavailable folder makes an owner seem gone: whatever it then does with its uploads is refused.
    await this.#beat().catch(() => undefined);
    this.#beating = undefined;
  }

  async #beat(): Promise<void> {
    this.#beats += 1;
    const shown = { host: hostname(), pid: process.pid, beat: this.#beats };
    await writeFile(join(this.#folder, this.id), `${JSON.stringify(shown)}\n`, { flush: this.#beats === 1 });
  }
}
