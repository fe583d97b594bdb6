import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { keyFiles } from './keyFiles.ts';
import { pathOf } from './openBackend.ts';
import { PrivateFiles } from './PrivateFiles.ts';

/** Warnings about single files; more are only counted. */
const MAX_WARNINGS = 20;

/** From now on, the files and folders that this process makes are for its own user alone. */
export function makeFilesPrivate(): void {
  process.umask(0o077);
}

/**
 * Takes what earlier versions, backups or hands left open to other users away from them: the data folder, the SQLite
 * files, the documents, the keys. What cannot be changed is a warning. Folders beside the data folder that hold a
 * SQLite file may be anybody's, and stay as they are. Throws what the file system says when a folder cannot be read.
 */
export function keepFilesPrivate(config: Config, logger: Logger): void {
  const files = new PrivateFiles();
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
  for (const open of files.open.slice(0, MAX_WARNINGS)) {
    logger.warn(open, 'others may look into this file or folder, and its permissions could not be changed');
  }
  const more = files.open.length - MAX_WARNINGS;
  if (more > 0) logger.warn({ more }, 'there are more such files and folders');
}
