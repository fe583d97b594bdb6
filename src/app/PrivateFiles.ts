import { chmodSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;
const OTHERS = 0o077;
const STICKY = 0o1000;

/** A file or folder that users other than its owner may look into, and that could not be changed. */
export interface OpenToOthers {
  path: string;
  /** Its permissions, such as `0755`. */
  mode: string;
  /** Why: the file system's code, `unchanged` where nothing was to be changed, `shared` for a folder that others share (`/tmp`), or `ignored` by a mounted volume. */
  reason: string;
}

/** Takes folders and files of the service away from other users; gives those that it could not change. */
export class PrivateFiles {
  readonly open: OpenToOthers[] = [];
  readonly #changes: boolean;

  /** `changes`: false to look only. */
  constructor({ changes }: { changes: boolean } = { changes: true }) {
    this.#changes = changes;
  }

  /** A folder, but not what is in it: 0700. One that is not there is none of its business. */
  folder(path: string): void {
    this.#restrict(path, PRIVATE_FOLDER);
  }

  /** A file: 0600. */
  file(path: string): void {
    this.#restrict(path, PRIVATE_FILE);
  }

  /**
   * All that is in a folder of the service's own. A folder in it that was gone through is 0700, and is not gone through
   * again. None that is not there.
   */
  inside(path: string): void {
    if (modeOf(path) === undefined) return;
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const inner = join(path, entry.name);
      if (entry.isFile()) this.file(inner);
      if (!entry.isDirectory() || !isOpen(inner)) continue;
      this.inside(inner);
      this.folder(inner);
    }
  }

  #restrict(path: string, mode: number): void {
    const before = modeOf(path);
    if (before === undefined || (before & OTHERS) === 0) return;
    const complain = (reason: string) =>
      this.open.push({ path, mode: (before & 0o7777).toString(8).padStart(4, '0'), reason });
    if (mode === PRIVATE_FOLDER && (before & STICKY) !== 0) {
      complain('shared');
      return;
    }
    if (!this.#changes) {
      complain('unchanged');
      return;
    }
    try {
      chmodSync(path, mode);
    } catch (error) {
      complain((error as NodeJS.ErrnoException).code ?? 'unknown');
      return;
    }
    if (isOpen(path)) complain('ignored');
  }
}

function modeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mode;
}

function isOpen(path: string): boolean {
  return ((modeOf(path) ?? 0) & OTHERS) !== 0;
}
