import { INSTALLATION } from '../../domain/events/streamNames.ts';
import type { HeadTarget } from '../../storage/headTarget.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import type { SigningKey } from './SigningKey.ts';
import { StoredTree } from './StoredTree.ts';
import { rememberSentHead, sentHeads } from './sentHeads.ts';
import { signTreeHead, type TreeHead } from './treeHead.ts';

/** Number of workspaces whose last heads are requested at a time. */
const ASKED_AT_ONCE = 100;
const SIZE_DIGITS = 12;

export interface HeadPorts {
  readModels: ReadModels;
  stateStore: StateStore;
  target: HeadTarget;
}

/**
 * Signs and sends a head of each workspace that has grown since its last one, based on the read model of the tree. Returns the
 * workspaces whose history no longer contains the last head sent. Rejects with `unavailable` at the first head that cannot be
 * sent: those before it are not sent again.
 */
export async function sendHeads(
  ports: HeadPorts,
  workspaces: readonly string[],
  signingKey: () => Promise<SigningKey>,
): Promise<Set<string>> {
  const contradicted = new Set<string>();
  for (let at = 0; at < workspaces.length; at += ASKED_AT_ONCE) {
    const some = workspaces.slice(at, at + ASKED_AT_ONCE);
    const last = await sentHeads(ports.stateStore, some);
    for (const workspace of some) {
      const holds = await sendHead(ports, workspace, last.get(workspace), signingKey);
      if (!holds) contradicted.add(workspace);
    }
  }
  return contradicted;
}

/** Returns whether the workspace's history still contains the last head. */
async function sendHead(
  { readModels, stateStore, target }: HeadPorts,
  workspace: string,
  last: TreeHead | undefined,
  signingKey: () => Promise<SigningKey>,
): Promise<boolean> {
  const stored = await StoredTree.open(readModels, workspace);
  // A smaller tree is being rebuilt, or belongs to a restored log.
  if (stored === undefined || stored.head.size < (last?.size ?? 1)) return true;
  const holds = last === undefined || (await stored.rootAt(last.size)) === last.root;
  if (stored.head.size === last?.size) return holds;
  // Requested after the tree: a key that was replaced never signs what came after that.
  const head = signTreeHead(workspace, stored.head, stored.head.last, await signingKey());
  // A head that contradicts the last one is sent anyway: it is the evidence of the contradiction.
  await target.keep(fileName(head), `${JSON.stringify(head, undefined, 2)}\n`);
  await rememberSentHead(stateStore, head);
  return holds;
}

/** `clinic-000000001024-20260314T093000000Z.json` */
function fileName({ workspace, size, created_at }: TreeHead): string {
  const number = String(size).padStart(SIZE_DIGITS, '0');
  return `${filePrefix(workspace)}${number}-${created_at.replaceAll(/[-:.]/g, '')}.json`;
}

/**
 * Returns the prefix of the names of all files with heads of a workspace, and no others: its id has no hyphen. The first digit,
 * which is 0 below 100 billion events, distinguishes a workspace called `all` from all workspaces.
 */
export function headFilesOf(workspace: string): string {
  return `${filePrefix(workspace)}0`;
}

function filePrefix(workspace: string): string {
  return `${workspace === INSTALLATION ? 'all-workspaces' : workspace}-`;
}
