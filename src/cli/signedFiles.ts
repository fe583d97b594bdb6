import type { KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
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

function parseHead(text: string): TreeHead | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return manifestSchema.safeParse(value).data?.tree_head ?? treeHeadSchema.safeParse(value).data;
  } catch {
    return undefined;
  }
}
