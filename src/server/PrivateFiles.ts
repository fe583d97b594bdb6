import { chmodSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;
const OTHERS = 0o077;
const STICKY = 0o1000;

/** A file or folder accessible to users other than its owner that could not be changed. */
export interface OpenToOthers {
  path: string;
  /** Its permissions, such as `0755`. */
  mode: string;
  /**
   * The reason: the file system's error code, `unchanged` if no changes were to be made, `shared` for a folder shared with others
   * (`/tmp`), or `ignored` by a mounted volume.
   */
  reason: string;
}

/** Makes the service's folders and files inaccessible to other users; lists those that it could not change. */
export class PrivateFiles {
  readonly open: OpenToOthers[] = [];
  readonly #changes: boolean;

  /** `changes`: false for checking only. */
  constructor({ changes }: { changes: boolean } = { changes: true }) {
    this.#changes = changes;
  }

  /** A folder, but not its contents: 0700. Ignores a missing one. */
  folder(path: string): void {
    this.#restrict(path, PRIVATE_FOLDER);
  }

  /** A file: 0600. */
  file(path: string): void {
    this.#restrict(path, PRIVATE_FILE);
  }

  /**
   * Everything in one of the service's own folders. Folders inside it that were processed are 0700, and are not processed again.
   * Ignores a missing folder.
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
