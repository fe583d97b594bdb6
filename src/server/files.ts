import { chmodSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../platform/config.ts';
import { keyFiles } from './keys.ts';
import { pathOf } from './openStorage.ts';

const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;
const OTHERS = 0o077;
const STICKY = 0o1000;

/** A file or folder accessible to users other than its owner that could not be changed. */
interface OpenToOthers {
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
class PrivateFiles {
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

/** Maximum number of warnings about single files; the rest are only counted. */
const MAX_WARNINGS = 20;

/** From now on, the files and folders that this process creates are accessible only to its own user. */
export function makeFilesPrivate(): void {
  process.umask(0o077);
}

/**
 * Makes what earlier versions, backups or manual changes left accessible to other users private: the data folder, the SQLite
 * files, the documents, the keys. What cannot be changed is logged as a warning. Folders beside the data folder that contain a
 * SQLite file may belong to anyone, and stay as they are. Throws the file system's error when a folder cannot be read.
 */
export function restrictFileModes(config: Config, logger: Logger): void {
  const files = new PrivateFiles();
  restrictFiles(config, files);
  for (const open of files.open.slice(0, MAX_WARNINGS)) {
    logger.warn(open, 'other users can access this file or folder, and its permissions could not be changed');
  }
  const more = files.open.length - MAX_WARNINGS;
  if (more > 0) logger.warn({ more }, 'there are more such files and folders');
}

/** Returns the files and folders covered by `restrictFileModes` that others can access; changes nothing. Throws as that does. */
export function openFiles(config: Config): OpenToOthers[] {
  const files = new PrivateFiles({ changes: false });
  restrictFiles(config, files);
  return files.open;
}

function restrictFiles(config: Config, files: PrivateFiles): void {
  const { dataDir, eventLogUrl, readModelUrl, stateUrl, documentsUrl } = config;
  files.folder(dataDir);
  for (const name of keyFiles) files.file(join(dataDir, name));
  for (const url of [eventLogUrl, readModelUrl, stateUrl].filter((one) => one.startsWith('sqlite:'))) {
    for (const end of ['', '-wal', '-shm']) files.file(pathOf(url) + end);
  }
  if (documentsUrl.startsWith('file:')) {
    const folder = pathOf(documentsUrl);
    files.folder(folder);
    files.inside(folder);
  }
}
