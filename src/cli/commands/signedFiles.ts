import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NOTICES } from '../../modules/erasure/erasureNotice.ts';
import { keysOfLog } from '../../modules/integrity/loggedRotations.ts';
import { manifestSchema } from '../../modules/integrity/manifest.ts';
import { PublicKeys } from '../../modules/integrity/PublicKeys.ts';
import { publicKeysOf } from '../../modules/integrity/SigningKey.ts';
import { type TreeHead, treeHeadSchema } from '../../modules/integrity/treeHead.ts';
import { ServiceError } from '../../platform/errors.ts';
import { loadSigningKey } from '../../server/withStores.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { ofFile } from '../lib/ofFile.ts';

/** Reads the keys for checking signatures from a public key file (PEM). Rejects with `validation_failed` or `conflict`. */
export const readPublicKeys = (path: string): Promise<PublicKeys> =>
  ofFile(path, async () => PublicKeys.parse(await readFile(path, 'utf8')));

/**
 * Returns the keys for checking heads: the key in the file, otherwise the service's own, and the rotations recorded in the log.
 * Rejects as `readPublicKeys` and `loadSigningKey` do.
 */
export async function checkingKeys(eventLog: EventLog, path: string | undefined): Promise<PublicKeys> {
  if (path === undefined) return publicKeysOf(await loadSigningKey(eventLog));
  const given = await readPublicKeys(path);
  return (await keysOfLog(eventLog, given)).publicKeys ?? given;
}

/**
 * Reads the tree head in a file, which may be an export's manifest, signed with a key valid at its time; of one workspace, if
 * given. Rejects with `validation_failed` or `conflict`.
 */
export async function readHead(path: string, publicKeys: PublicKeys, workspace?: string): Promise<TreeHead> {
  const text = await ofFile(path, () => readFile(path, 'utf8'));
  const head = parseHead(text);
  const problem = head ? publicKeys.problem(head) : 'it is neither a tree head nor the manifest of an export';
  if (head === undefined || problem) {
    throw new ServiceError('validation_failed', `${path} is not valid: ${problem}.`);
  }
  if (workspace === undefined || head.workspace === workspace) return head;
  throw new ServiceError('validation_failed', `${path} belongs to the workspace ${head.workspace}.`);
}

/**
 * Reads the heads of a workspace in the files `*.json` of a folder that are not notices of erasures, signed with keys valid at
 * their times. Rejects with `validation_failed` at the first invalid one, or when there are none; with `conflict` when one cannot
 * be read.
 */
export async function readHeads(
  folder: string,
  publicKeys: PublicKeys,
  workspace: string,
): Promise<TreeHead[]> {
  const names = await ofFile(folder, () => readdir(folder));
  const heads: TreeHead[] = [];
  const isHead = (name: string) => name.endsWith('.json') && !name.startsWith(NOTICES);
  for (const name of names.filter(isHead).toSorted()) {
    const head = await readHead(join(folder, name), publicKeys);
    if (head.workspace === workspace) heads.push(head);
  }
  if (heads.length > 0) return heads;
  throw new ServiceError(
    'validation_failed',
    `${folder} does not contain a head of the workspace ${workspace}.`,
  );
}

function parseHead(text: string): TreeHead | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return manifestSchema.safeParse(value).data?.tree_head ?? treeHeadSchema.safeParse(value).data;
  } catch {
    return undefined;
  }
}
