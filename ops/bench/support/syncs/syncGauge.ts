import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('syncs.c', import.meta.url));
/** The minimum time of a sync, the count of syncs, and the time that they took; in nanoseconds, eight bytes each. */
const GAUGE_BYTES = 24;

/** Syncs so far: how many, and how many seconds they took in total. */
export interface Syncs {
  count: number;
  seconds: number;
}

/** Compiles the library that counts and slows syncs into a folder; undefined where that cannot be done. */
export function compileSyncLibrary(folder: string): string | undefined {
  const hasCompiler = process.platform === 'linux' && spawnSync('cc', ['--version']).error === undefined;
  if (!hasCompiler) return undefined;
  const library = join(folder, 'syncs.so');
  execFileSync('cc', ['-O2', '-Wall', '-shared', '-fPIC', '-o', library, source, '-ldl'], {
    stdio: 'inherit',
  });
  return library;
}

/** Counts the syncs of one server, of files in one folder, and sets how long each takes at least. */
export class SyncGauge {
  /** Variables with which the server is started. */
  readonly env: Record<string, string>;
  readonly #path: string;

  constructor(library: string, folder: string, name: string) {
    this.#path = join(folder, `${name}.syncs`);
    writeFileSync(this.#path, Buffer.alloc(GAUGE_BYTES));
    this.env = { LD_PRELOAD: library, BENCH_SYNC_GAUGE: this.#path };
  }

  /** Applies from now on; 0 for as long as the disk takes. */
  takeAtLeast(milliseconds: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(Math.round(milliseconds * 1e6)));
    const file = openSync(this.#path, 'r+');
    writeSync(file, bytes);
    closeSync(file);
  }

  read(): Syncs {
    const bytes = readFileSync(this.#path);
    return { count: Number(bytes.readBigUInt64LE(8)), seconds: Number(bytes.readBigUInt64LE(16)) / 1e9 };
  }
}
