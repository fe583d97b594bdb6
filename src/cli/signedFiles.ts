import type { KeyObject } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NOTICES } from '../erasure/notices/erasureNotice.ts';
import { ServiceError } from '../errors.ts';
import { manifestSchema } from '../evidence/export/manifest.ts';
import { parsePublicKey, signatureProblem } from '../evidence/signing.ts';
import { type TreeHead, treeHeadSchema } from '../evidence/treeHead.ts';
import { ofFile } from './ofFile.ts';

/** The public key in a file (PEM). Rejects with `validation_failed` or `conflict`. */
export const readPublicKey = (path: string): Promise<KeyObject> =>
  ofFile(path, async () => parsePublicKey(await readFile(path, 'utf8')));

/**
 * The tree head in a file, which may be the manifest of an export, signed with the key; of one workspace, where that is
 * given. Rejects with `validation_failed` or `conflict`.
 */
export async function readHead(path: string, publicKey: KeyObject, workspace?: string): Promise<TreeHead> {
  const text = await ofFile(path, () => readFile(path, 'utf8'));
  const head = parseHead(text);
  const problem = head
    ? signatureProblem(head, publicKey)
    : 'it is no tree head and no manifest of an export';
  if (head === undefined || problem) {
    throw new ServiceError('validation_failed', `${path} does not hold: ${problem}.`);
  }
  if (workspace === undefined || head.workspace === workspace) return head;
  throw new ServiceError('validation_failed', `${path} is of the workspace ${head.workspace}.`);
}

/**
 * The heads of a workspace in the files `*.json` of a folder that are no notices of erasures, signed with the key. Rejects with `validation_failed` at the
 * first that does not hold, or when there is none; with `conflict` when one cannot be read.
 */
export async function readHeads(
  folder: string,
  publicKey: KeyObject,
  workspace: string,
): Promise<TreeHead[]> {
  const names = await ofFile(folder, () => readdir(folder));
  const heads: TreeHead[] = [];
  const isHead = (name: string) => name.endsWith('.json') && !name.startsWith(NOTICES);
  for (const name of names.filter(isHead).toSorted()) {
    const head = await readHead(join(folder, name), publicKey);
    if (head.workspace === workspace) heads.push(head);
  }
  if (heads.length > 0) return heads;
  throw new ServiceError('validation_failed', `${folder} holds no head of the workspace ${workspace}.`);
}

function parseHead(text: string): TreeHead | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return manifestSchema.safeParse(value).data?.tree_head ?? treeHeadSchema.safeParse(value).data;
  } catch {
    return undefined;
  }
}
