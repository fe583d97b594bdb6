import { existsSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { Config } from '../../platform/config.ts';
import { openFiles } from '../../server/keepFilesPrivate.ts';
import { keyFiles } from '../../server/keyFiles.ts';
import { pathOf } from '../../server/openBackend.ts';
import { count } from '../lib/output.ts';
import { type CheckResult, failed, ok, warn } from './checkResult.ts';

/** Maximum number of files listed; the rest are only counted. Those of keys come first. */
const MOST_FILES = 20;
const MIB = 1024 * 1024;
/** With less, stores will soon refuse writes. */
const LEAST_FREE_BYTES = 100 * MIB;
const LOW_FREE_BYTES = 1024 * MIB;

/** Checks whether others can access what should be private to the service. */
export async function checkPermissions(config: Config): Promise<CheckResult[]> {
  const open = openFiles(config);
  const found = open.slice(0, MOST_FILES).map(({ path, mode }) => {
    const mending = `${statSync(path).isDirectory() ? 'chmod 700' : 'chmod 600'} ${path}`;
    const message = `${path} is open to other users (${mode}). A start of the service mends that, or: ${mending}`;
    return keyFiles.includes(basename(path))
      ? failed('permissions', 'key_open', message)
      : warn('permissions', 'file_open', message);
  });
  if (open.length > MOST_FILES) {
    found.push(warn('permissions', 'file_open', `So are ${count(open.length - MOST_FILES)} more.`));
  }
  return found.length > 0 ? found : [ok('permissions', 'only their owner can access files and folders')];
}

/** Returns the folders of this machine that contain data of the service. */
function foldersOf({ dataDir, eventLogUrl, readModelUrl, stateUrl, documentsUrl }: Config): string[] {
  const files = [eventLogUrl, readModelUrl, stateUrl].filter((url) => url.startsWith('sqlite:'));
  const documents = documentsUrl.startsWith('file:') ? [pathOf(documentsUrl)] : [];
  const all = [dataDir, ...files.map((url) => dirname(pathOf(url))), ...documents];
  return all.filter((folder) => existsSync(folder));
}

/** Checks whether there is space where the service writes, reported once for each file system. */
export async function checkDisk(config: Config): Promise<CheckResult[]> {
  const folders = new Map(foldersOf(config).map((folder) => [statSync(folder).dev, folder]));
  const found: CheckResult[] = [];
  for (const folder of folders.values()) {
    const { bavail, bsize } = await statfs(folder);
    found.push(roomFor(folder, bavail * bsize));
  }
  return found.length > 0 ? found : [ok('disk', 'none of the stores is on this machine')];
}

/** Rates the free bytes of a folder. */
export function roomFor(folder: string, bytes: number): CheckResult {
  const free = `${Math.floor(bytes / MIB).toLocaleString('en')} MiB are free for ${folder}`;
  const advice = 'Make room, or move the data folder to a larger disk.';
  if (bytes < LEAST_FREE_BYTES) return failed('disk', 'disk_full', `${free}. ${advice}`);
  return bytes < LOW_FREE_BYTES ? warn('disk', 'disk_low', `${free}. ${advice}`) : ok('disk', free);
}
