import { randomUUID } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from './durableFiles.ts';

export interface OwnerTiming {
  /** How often an owner shows that it lives. */
  beatMs: number;
  /** For how long an owner must have shown nothing to count as gone. */
  goneAfterMs: number;
}

const timingByDefault: OwnerTiming = { beatMs: 2_000, goneAfterMs: 12_000 };

interface Observation {
  beat: string | undefined;
  /** On this process's monotonic clock. */
  since: number;
}

/**
 * One of the processes that upload into a folder. A file `owners/<id>` that it changes again and again says that it
 * lives. Process ids would not do, as containers have their own each, nor would times, as clocks step: whoever wants to
 * know watches the file on a clock of its own.
 */
export class UploadOwner {
  readonly id = randomUUID();
  readonly #folder: string;
  readonly #timing: OwnerTiming;
  readonly #observed = new Map<string, Observation>();
  #beats = 0;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> = Promise.resolve();

  constructor(folder: string, timing: OwnerTiming = timingByDefault) {
    this.#folder = join(folder, 'owners');
    this.#timing = timing;
  }

  /** Shows that it lives, from now on; the first time is durable. Rejects with the file system's error. */
  async live(): Promise<void> {
    if (this.#timer !== undefined) return;
    await makeFolder(this.#folder);
    await this.#beat();
    this.#timer ??= setInterval(() => {
      // A folder that is away makes an owner seem gone: what it then does with its uploads is refused.
      this.#beating = this.#beat().catch(() => undefined);
    }, this.#timing.beatMs);
    this.#timer.unref();
  }

  /** Whether an owner showed no life for long enough since this one first asked for it; one that left has no file. */
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

  /** Removes what is left of an owner that is gone. */
  async bury(owner: string): Promise<void> {
    this.#observed.delete(owner);
    await rm(join(this.#folder, owner), { force: true });
  }

  /** Its uploads are others' to settle from now on. */
  async leave(): Promise<void> {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#beating;
    await rm(join(this.#folder, this.id), { force: true }).catch(() => undefined);
  }

  async #beat(): Promise<void> {
    this.#beats += 1;
    const shown = { host: hostname(), pid: process.pid, beat: this.#beats };
    await writeFile(join(this.#folder, this.id), `${JSON.stringify(shown)}\n`, { flush: this.#beats === 1 });
  }
}
