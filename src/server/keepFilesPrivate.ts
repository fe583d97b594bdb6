import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../platform/config.ts';
import { keyFiles } from './keyFiles.ts';
import { pathOf } from './openBackend.ts';
import { type OpenToOthers, PrivateFiles } from './PrivateFiles.ts';

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
export function keepFilesPrivate(config: Config, logger: Logger): void {
  const files = new PrivateFiles();
  goThrough(config, files);
  for (const open of files.open.slice(0, MAX_WARNINGS)) {
    logger.warn(open, 'other users can access this file or folder, and its permissions could not be changed');
  }
  const more = files.open.length - MAX_WARNINGS;
  if (more > 0) logger.warn({ more }, 'there are more such files and folders');
}

/** Returns the files and folders covered by `keepFilesPrivate` that others can access; changes nothing. Throws as that does. */
export function openFiles(config: Config): OpenToOthers[] {
  const files = new PrivateFiles({ changes: false });
  goThrough(config, files);
  return files.open;
}

function goThrough(config: Config, files: PrivateFiles): void {
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
