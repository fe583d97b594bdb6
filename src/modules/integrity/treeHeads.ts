import { z } from 'zod';
import { INSTALLATION } from '../../domain/events/streams.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import type { StateStore, StateTable } from '../../storage/stateStore.ts';
import type { PublishedHead, TreeHeadPublisher } from '../../storage/targets.ts';
import { StoredTree } from './proofs.ts';
import {
  type PublicKeys,
  type SigningKey,
  signTreeHead,
  type TreeHead,
  treeHeadSchema,
} from './publicKeys.ts';

/** The result of the last try of the role `heads`. */
export interface HeadsStatus {
  /** Where heads are sent, for display. */
  place: string;
  /** ISO 8601, UTC. */
  tried_at: string;
  /** Why it failed; null: it succeeded. */
  problem: string | null;
  /** When all heads due were last sent; absent until they are. */
  sent_at?: string | undefined;
  /** `PublicKeys.text()` of the signing key, for processes that do not have it. Null while the key could not be opened. */
  public_key: string | null;
}

/** A single row, written by the one process that sends. If it is lost, the next try writes it again. */
const table: StateTable<HeadsStatus> = {
  name: 'heads_status_v1',
  body: z.object({
    place: z.string(),
    tried_at: z.string(),
    problem: z.string().nullable(),
    sent_at: z.string().optional(),
    public_key: z.string().nullable(),
  }),
};
const ID = 'heads';

/** Returns the result of the last try; undefined when there was none. Rejects with `unavailable`. */
export async function headsStatus(stateStore: StateStore): Promise<HeadsStatus | undefined> {
  const [row] = await stateStore.load(table, [ID]);
  return row?.body;
}

/** Makes the result of a try visible to all processes; without `sent_at`, the last one stays. Rejects with `unavailable`. */
export async function reportHeadsStatus(stateStore: StateStore, status: HeadsStatus): Promise<void> {
  const [row] = await stateStore.load(table, [ID]);
  const revision = (row?.revision ?? 0) + 1;
  const sent_at = status.sent_at ?? row?.body.sent_at;
  const body = { ...status, ...(sent_at !== undefined && { sent_at }) };
  await stateStore.save(table, [{ id: ID, partition: ID, order: 0, revision, body }]);
}

/** Heads that were sent, as stored at their destination. */
export interface PublishedHeads {
  heads: TreeHead[];
  /** A line for each file that is not a head of the workspace, or was not signed by a key valid at its time. */
  problems: string[];
}

/** Reads a place's files for a workspace. Rejects as reading them does. */
export async function publishedHeads(
  files: AsyncIterable<PublishedHead>,
  workspace: string,
  publicKeys: PublicKeys,
): Promise<PublishedHeads> {
  const found: PublishedHeads = { heads: [], problems: [] };
  for await (const { name, text } of files) {
    const head = parseHead(text);
    const problem =
      head === undefined
        ? 'it is not a tree head'
        : head.workspace === workspace
          ? publicKeys.problem(head)
          : `it belongs to the workspace ${head.workspace}`;
    if (head === undefined || problem)
      found.problems.push(`The saved head ${name} is not valid: ${problem}.`);
    else found.heads.push(head);
  }
  return found;
}

function parseHead(text: string): TreeHead | undefined {
  try {
    return treeHeadSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** The last head sent of each workspace. If it is lost, one more is sent. */
export const sentHeadsTable: StateTable<TreeHead> = { name: 'sent_heads_v1', body: treeHeadSchema };

/** Returns the last heads sent of these workspaces, by workspace. Rejects with `unavailable`. */
export async function sentHeads(
  stateStore: StateStore,
  workspaces: readonly string[],
): Promise<Map<string, TreeHead>> {
  const rows = await stateStore.load(sentHeadsTable, [...workspaces]);
  return new Map(rows.map(({ id, body }) => [id, body]));
}

/** Records a head that was sent. Rejects with `unavailable`. */
async function saveSentHead(stateStore: StateStore, head: TreeHead): Promise<void> {
  const { workspace, size } = head;
  await stateStore.save(sentHeadsTable, [
    { id: workspace, partition: workspace, order: 0, revision: size, body: head },
  ]);
}

/** Number of workspaces whose last heads are requested at a time. */
const ASKED_AT_ONCE = 100;
const SIZE_DIGITS = 12;

export interface HeadPorts {
  readModels: ReadModels;
  stateStore: StateStore;
  target: TreeHeadPublisher;
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
  await target.write(fileName(head), `${JSON.stringify(head, undefined, 2)}\n`);
  await saveSentHead(stateStore, head);
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
