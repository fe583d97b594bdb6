import { join } from 'node:path';
import type { Config } from '../platform/config.ts';
import { ServiceError } from '../platform/errors.ts';
import { fileProblem } from '../storage/engines/fileProblem.ts';
import { moveDurably } from '../storage/engines/filesystem/durableFiles.ts';
import { readSecretFile, replaceSecretFile, secretFile } from '../storage/engines/filesystem/secretFile.ts';

/** A key of the service: in a setting, otherwise in a file of the data folder that is created when the key is first needed. */
export interface Key {
  setting: string;
  file: string;
  /** Base64; two of them, separated by a comma, while the key is being changed. */
  set(config: Config): string | undefined;
  generate(): Buffer;
  /** Returns what is wrong with its bytes, worded to follow the file name. */
  problem(bytes: Buffer): string | undefined;
  /** It may deliberately be withheld from the service's user. */
  mayBeDenied?: true;
  /** What was made with it is still needed after another key has replaced it. */
  keepsPrevious?: true;
}

/**
 * Returns the names of a key's files: the current one; the next one, while the key is being changed; and the previous one, if it
 * is kept.
 */
export function filesOf({ file, keepsPrevious }: Key): [string, string, ...string[]] {
  return [file, `${file}.next`, ...(keepsPrevious ? [`${file}.previous`] : [])];
}

/**
 * Returns the keys that are set or exist, the current one first. Rejects with `internal`, whose `problem` names the file or
 * setting.
 */
export async function findAll(key: Key, config: Config): Promise<Buffer[]> {
  const set = setKeys(key, config);
  if (set !== undefined) return set;
  const [path, nextPath, previousPath] = pathsOf(key, config);
  // In this order, a file that is renamed in between is still found.
  const next = await readKey(key, nextPath);
  const current = await readKey(key, path);
  const previous = previousPath === undefined ? undefined : await readKey(key, previousPath);
  return [current, next, previous].filter((bytes) => bytes !== undefined);
}

/** Returns the current key, creating it when there is none. Rejects as above, as do the next functions. */
export async function load(key: Key, config: Config): Promise<Buffer> {
  const [set] = setKeys(key, config) ?? [];
  const [path] = pathsOf(key, config);
  return set ?? makeKey(key, path);
}

/**
 * Returns the key that is to replace the current one: if set, the other one in the setting, which must be there, otherwise a new
 * one. Also rejects with `validation_failed`.
 */
export async function nextKey(key: Key, config: Config, current: Buffer): Promise<Buffer> {
  const set = setKeys(key, config);
  const [, path] = pathsOf(key, config);
  const next = set === undefined ? await makeKey(key, path) : set.find((bytes) => !bytes.equals(current));
  if (next !== undefined) return next;
  throw new ServiceError(
    'validation_failed',
    `${key.setting} is a setting, and names no other key. Give every process the new key behind the old one, separated by a comma, and run this again.`,
  );
}

/** Makes a next key the current one, durably. A setting stays as it is. */
export async function settle(key: Key, config: Config, bytes: Buffer): Promise<void> {
  if (key.set(config) !== undefined) return;
  const [path, nextPath, previousPath] = pathsOf(key, config);
  const next = await readKey(key, nextPath);
  // Another process was faster.
  if (!next?.equals(bytes)) return;
  const current = await readKey(key, path);
  try {
    if (previousPath && current && !current.equals(next)) await replaceSecretFile(previousPath, current);
    await moveDurably(nextPath, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw asKeyError(error, path);
  }
}

/** Whether a key is inaccessible to the user of this process. */
export function isDenied(error: unknown): boolean {
  const { cause = error } = error as Error;
  return ['EACCES', 'EPERM'].includes((cause as NodeJS.ErrnoException).code ?? '');
}

function setKeys(key: Key, config: Config): Buffer[] | undefined {
  const parts = key.set(config)?.split(',');
  return parts?.map((part) => check(key, key.setting, Buffer.from(part, 'base64')));
}

function pathsOf(key: Key, { dataDir }: Config): [string, string, string | undefined] {
  const [file, next, previous] = filesOf(key);
  return [join(dataDir, file), join(dataDir, next), previous && join(dataDir, previous)];
}

async function readKey(key: Key, path: string): Promise<Buffer | undefined> {
  try {
    const bytes = await readSecretFile(path);
    return bytes && check(key, path, bytes);
  } catch (error) {
    throw asKeyError(error, path);
  }
}

async function makeKey(key: Key, path: string): Promise<Buffer> {
  try {
    return check(key, path, await secretFile(path, key.generate));
  } catch (error) {
    throw asKeyError(error, path);
  }
}

function check({ problem }: Key, place: string, bytes: Buffer): Buffer {
  const wrong = problem(bytes);
  if (wrong !== undefined) throw keyError(`${place} ${wrong}. Restore it from a backup.`);
  return bytes;
}

function asKeyError(error: unknown, path: string): ServiceError {
  if (error instanceof ServiceError) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOTDIR') return keyError(`${fileProblem(path, error)}`, error);
  const advice = isDenied(error)
    ? 'Give the file and its folder to the user of the service (chown).'
    : 'Check the path and its file system.';
  return keyError(`${path} cannot be read or made (${code}). ${advice}`, error);
}

function keyError(problem: string, cause?: unknown): ServiceError {
  return new ServiceError('internal', 'A key of the service cannot be used. Its log says which one.', {
    problem,
    cause,
  });
}
