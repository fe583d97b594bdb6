import { z } from 'zod';
import {
  LEAVES_A_ROW,
  leavesRowId,
  ROW_LEVEL,
  type TreeHeadRow,
  type TreeLeaf,
  type TreeLeavesRow,
  treeModel,
} from '../../../projections/tree.ts';
import {
  type EventMetadata,
  isJsonObject,
  type JsonObject,
  type Position,
  parseJson,
  type RecordedEvent,
} from '../../domain/events/event.ts';
import { erasureStep } from '../../domain/events/payloads.ts';
import { mayContain } from '../../domain/events/streams.ts';
import {
  addLeaf,
  areConsistent,
  consistencyRanges,
  emptyTree,
  eventLeaf,
  type Hash,
  inclusionRanges,
  joinSubtrees,
  type LeafRange,
  perfectSubtrees,
  rootOfInclusion,
  type Subtree,
  treeRoot,
} from '../../domain/merkle.ts';
import { validationError } from '../../domain/records/schema/validation.ts';
import { gone, notFound, ServiceError, unavailable } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { ModelName, ReadModels } from '../../storage/readModels.ts';
import { caughtUp, untilReached } from '../records/queries/paging.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import { hashSchema, type PublicKeys, type TreeHead, treeHeadSchema } from './publicKeys.ts';

const rowsModel = treeModel as ModelName<TreeLeavesRow>;

/** A leaf, and its index in the tree: 0 is the first. */
interface PlacedLeaf {
  index: number;
  leaf: TreeLeaf;
}

/**
 * A workspace's hash tree as the read model held it when it was opened. Each query takes a single read of at most as many rows as
 * a tree of its size has levels. Methods reject with `unavailable`.
 */
export class StoredTree {
  readonly #readModels: ReadModels;
  readonly #workspace: string;
  readonly #head: TreeHeadRow;

  private constructor(readModels: ReadModels, workspace: string, head: TreeHeadRow) {
    this.#readModels = readModels;
    this.#workspace = workspace;
    this.#head = head;
  }

  /** Opens the current state of the read model, ignoring later additions; undefined when it holds nothing of the workspace. */
  static async open(readModels: ReadModels, workspace: string): Promise<StoredTree | undefined> {
    const [row] = await readModels.load(treeModel as ModelName<TreeHeadRow>, [workspace]);
    return row && new StoredTree(readModels, workspace, row.body);
  }

  /** The same, with every event of the workspace that was acknowledged before the call. Rejects with `unavailable`. */
  static async current(ports: QueryPorts, workspace: string): Promise<StoredTree> {
    await caughtUp(ports, treeModel, 'hash tree');
    const tree = await StoredTree.open(ports.readModels, workspace);
    if (tree === undefined) throw unavailable('hash tree');
    return tree;
  }

  /** The current tree, and the event of its last leaf. */
  get head(): Readonly<TreeHeadRow> {
    return this.#head;
  }

  /** Returns the leaf of the event at a position; undefined when the tree has none. */
  async find(position: Position): Promise<PlacedLeaf | undefined> {
    const { leaves } = this.#head;
    const isOfEvent = ([at]: TreeLeaf) => at === position;
    const full = this.#fullRows();
    const last = leaves.findIndex(isOfEvent);
    if (last !== -1) return { index: full * LEAVES_A_ROW + last, leaf: leaves[last] as TreeLeaf };
    // The first row that ends at or after the position.
    const query = { partition: this.#workspace, after: position - 1, limit: 1 };
    const [row] = await this.#readModels.page(rowsModel, query);
    if (row === undefined || row.body.number > full) return undefined;
    const at = row.body.leaves.findIndex(isOfEvent);
    if (at === -1) return undefined;
    return { index: (row.body.number - 1) * LEAVES_A_ROW + at, leaf: row.body.leaves[at] as TreeLeaf };
  }

  /** Returns the roots over the ranges that make up proofs, all within the tree. */
  async roots(ranges: readonly LeafRange[]): Promise<Hash[]> {
    const subtrees = ranges.map(perfectSubtrees);
    const rows = await this.#load(subtrees.flat());
    return subtrees.map((some) => joinSubtrees(some.map((one) => this.#rootOf(one, rows))));
  }

  /** Returns the root of the tree when it had this many leaves, at least one. */
  async rootAt(size: number): Promise<Hash> {
    if (size === this.#head.size) return treeRoot(this.#head);
    const [root] = await this.roots([{ start: 0, end: size }]);
    return root as Hash;
  }

  #fullRows(): number {
    return Math.floor(this.#head.size / LEAVES_A_ROW);
  }

  async #load(subtrees: readonly Subtree[]): Promise<Map<number, TreeLeavesRow>> {
    const full = this.#fullRows();
    const numbers = new Set(subtrees.map(rowOf).filter((number) => number <= full));
    if (numbers.size === 0) return new Map();
    const ids = [...numbers].map((number) => leavesRowId(this.#workspace, number));
    const rows = await this.#readModels.load(rowsModel, ids);
    // For example, when the read model was restarted in the meantime.
    if (rows.length < ids.length) throw unavailable('hash tree');
    return new Map(rows.map(({ body }) => [body.number, body]));
  }

  #rootOf(subtree: Subtree, rows: ReadonlyMap<number, TreeLeavesRow>): Hash {
    const { level, index } = subtree;
    if (level >= ROW_LEVEL) return rows.get(rowOf(subtree))?.roots[level - ROW_LEVEL] as Hash;
    const start = (index * 2 ** level) % LEAVES_A_ROW;
    const leaves = this.#leavesOf(rowOf(subtree), rows).slice(start, start + 2 ** level);
    return treeRoot(leaves.reduce((tree, [, , leaf]) => addLeaf(tree, leaf), emptyTree));
  }

  #leavesOf(number: number, rows: ReadonlyMap<number, TreeLeavesRow>): TreeLeaf[] {
    return (rows.get(number) ?? this.#head).leaves;
  }
}

/** Returns the number of the row with which a subtree ends. */
function rowOf({ level, index }: Subtree): number {
  return numberOf((index + 1) * 2 ** level - 1);
}

/** Returns the number of the row that contains the leaf at an index. */
function numberOf(index: number): number {
  return Math.floor(index / LEAVES_A_ROW) + 1;
}

/** Returns the statement of a type in a JSON text, or which of its fields is invalid; undefined when the text is something else. */
export function parseStatement<Statement>(
  text: string,
  type: RegExp,
  schema: z.ZodType<Statement>,
): { statement: Statement } | { problem: string } | undefined {
  const value = parseJson(text);
  if (!isJsonObject(value) || typeof value.type !== 'string' || !type.test(value.type)) return undefined;
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return { statement: data };
  const [issue] = error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys : [];
  const field = [...(issue?.path ?? []), ...unknown.slice(0, 1)].join('.');
  return { problem: `${field} does not have the form that this version of Chartledger uses` };
}

/** The root of a workspace's tree at some size: the contents of a signed head, without a signature. */
const treeRootSchema = z.strictObject({
  type: z.literal('chartledger.tree_root.v1'),
  workspace: z.string(),
  /** Number of events. */
  size: z.int().min(1),
  root: hashSchema,
});

/** What an event's leaf covers, see `HashedEvent`. */
const hashedEventSchema = z.strictObject({
  id: z.string(),
  type: z.string(),
  stream: z.string(),
  revision: z.int().min(0),
  recordedAt: z.string(),
  // Unchanged, whatever they contain: the leaf covers all of it.
  metadata: z.custom<EventMetadata>((value) => isJsonObject(value) && typeof value.workspace === 'string'),
  data: z.custom<JsonObject>(isJsonObject),
});

/** Proves that an event is in the tree of its workspace (RFC 9162 section 2.1.3). */
export const inclusionProofSchema = z.strictObject({
  type: z.literal('chartledger.proof.v1'),
  event: hashedEventSchema,
  leaf: hashSchema,
  /** Index of the leaf in the tree: 0 is the first event of the workspace. */
  index: z.int().min(0),
  /** The audit path, deepest node first. */
  inclusion: z.array(hashSchema),
  tree_head: z.discriminatedUnion('type', [treeHeadSchema, treeRootSchema]),
});

export type InclusionProof = z.infer<typeof inclusionProofSchema>;

/** Proves that a later head begins with the events of an earlier one (RFC 9162 section 2.1.4). */
const consistencyProofSchema = z.strictObject({
  type: z.literal('chartledger.consistency_proof.v1'),
  first: treeHeadSchema,
  second: treeHeadSchema,
  consistency: z.array(hashSchema),
});

export type ConsistencyProof = z.infer<typeof consistencyProofSchema>;

export type Proof = InclusionProof | ConsistencyProof;

const proofSchema = z.discriminatedUnion('type', [inclusionProofSchema, consistencyProofSchema]);

/** Returns the proof in a JSON text, or which of its fields is invalid; undefined when the text is something else. */
export function parseProof(text: string): { proof: Proof } | { problem: string } | undefined {
  const found = parseStatement(text, /^chartledger\.\w*proof\./, proofSchema);
  return found && 'statement' in found ? { proof: found.statement } : found;
}

/**
 * Returns what is wrong with a proof: worded to follow `The proof is not valid: `, and naming the faulty field; undefined when
 * nothing is. A proof whose head is not signed needs `head`, one of the same tree whose signature has been checked.
 */
export function proofProblem(proof: Proof, publicKeys: PublicKeys, head?: TreeHead): string | undefined {
  return proof.type === 'chartledger.proof.v1'
    ? inclusionProblem(proof, publicKeys, head)
    : consistencyProblem(proof, publicKeys);
}

function inclusionProblem(
  proof: InclusionProof,
  publicKeys: PublicKeys,
  head?: TreeHead,
): string | undefined {
  const { event, leaf, index, inclusion, tree_head } = proof;
  if (eventLeaf(event) !== leaf) return 'event or leaf was changed: the hash of the event differs';
  const { workspace, size, root } = tree_head;
  if (event.metadata.workspace !== workspace || !mayContain(event.stream, workspace))
    return `event belongs to the workspace ${event.metadata.workspace}, but tree_head to ${workspace}`;
  const problem = headProblem(proof, publicKeys, head);
  if (problem) return problem;
  if (index >= size) return `index is ${index}, but tree_head has only ${size} events`;
  const reached = rootOfInclusion(leaf, index, size, inclusion);
  if (reached === undefined) return 'inclusion has more or fewer hashes than a proof of this index and size';
  return reached === root
    ? undefined
    : 'inclusion does not lead from leaf and index to the root of tree_head';
}

function headProblem(
  { tree_head }: InclusionProof,
  publicKeys: PublicKeys,
  head?: TreeHead,
): string | undefined {
  if (head && (head.workspace !== tree_head.workspace || head.size !== tree_head.size))
    return `tree_head is of ${tree_head.size} events of ${tree_head.workspace}, but the given head of ${head.size} of ${head.workspace}`;
  if (head && head.root !== tree_head.root)
    return 'the root of tree_head differs from that of the given head';
  if (tree_head.type === 'chartledger.tree_head.v1') return signedProblem('tree_head', tree_head, publicKeys);
  return head ? undefined : 'tree_head is not signed; specify the signed head of the same size with --head';
}

function consistencyProblem(
  { first, second, consistency }: ConsistencyProof,
  publicKeys: PublicKeys,
): string | undefined {
  const problem = signedProblem('first', first, publicKeys) ?? signedProblem('second', second, publicKeys);
  if (problem) return problem;
  if (first.workspace !== second.workspace)
    return `first belongs to the workspace ${first.workspace}, but second to ${second.workspace}`;
  if (first.size > second.size) return 'first has more events than second';
  return areConsistent(first, second, consistency)
    ? undefined
    : 'consistency does not lead from first to second';
}

function signedProblem(name: string, signed: TreeHead, publicKeys: PublicKeys): string | undefined {
  const problem = publicKeys.problem(signed);
  return problem && `${name}: ${problem}`;
}

/**
 * Proves that a later head of a workspace begins with the events of an earlier one; `differs` is the head that does not belong to
 * the stored tree. Rejects with `validation_failed` when the first one has more events, and with `unavailable` when the projector
 * is more than two seconds behind.
 */
export async function proveConsistency(
  ports: QueryPorts,
  first: TreeHead,
  second: TreeHead,
): Promise<ConsistencyProof | { differs: TreeHead }> {
  if (first.size > second.size)
    throw validationError([{ field: 'first', message: 'must not have more events than the second head' }]);
  await caughtUp(ports, treeModel, 'hash tree');
  const stored = await StoredTree.open(ports.readModels, second.workspace);
  if (stored === undefined || stored.head.size < second.size) return { differs: second };
  for (const head of [first, second])
    if ((await stored.rootAt(head.size)) !== head.root) return { differs: head };
  const consistency = await stored.roots(consistencyRanges(first.size, second.size));
  return { type: 'chartledger.consistency_proof.v1', first, second, consistency };
}

/** A proof, and the tree it was taken from: at its current size, unless another one was requested. */
interface EventProof {
  proof: InclusionProof;
  stored: StoredTree;
}

/**
 * Returns the event of one version of a stream; rejects with `gone` when it was erased, with `not_found` when there is no such
 * version, where `title` names what it belongs to: `Patient`.
 */
export async function eventOfVersion(
  eventLog: EventLog,
  stream: string,
  version: number,
  title: string,
): Promise<RecordedEvent> {
  const revision = version - 1;
  const [event] = await eventLog.readStream(stream, { from: revision, limit: 1 });
  if (event?.revision === revision) return event;
  if (event && erasureStep(event)) throw gone(title, event.recordedAt);
  const [last] = await eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
  if (last === undefined) throw notFound(title);
  throw new ServiceError('not_found', `The ${title.toLowerCase()} has no version ${version}.`);
}

/** Which tree should contain an event; default: the current one. */
interface WantedTree {
  /** The tree when it had this many events. */
  treeSize?: number | undefined;
  /** A signed head, whose tree is used if no size is requested and it contains the event; the proof then includes it. */
  signed?: TreeHead | undefined;
}

/**
 * Proves that an event is in the tree of its workspace. Waits for the projector, and rejects with `unavailable` when that is more
 * than two seconds behind; with `validation_failed` when the tree never had that size, or did not have this event yet; with
 * `conflict` when the tree does not match the log's event.
 */
export async function proveEvent(
  { eventLog, readModels }: QueryPorts,
  event: RecordedEvent,
  { treeSize, signed }: WantedTree = {},
): Promise<EventProof> {
  const { workspace } = event.metadata;
  await untilReached(readModels, treeModel, event.position, 'hash tree');
  let stored = await StoredTree.open(readModels, workspace);
  if (stored && treeSize !== undefined && treeSize > stored.head.size) {
    await caughtUp({ eventLog, readModels }, treeModel, 'hash tree');
    stored = await StoredTree.open(readModels, workspace);
  }
  const placed = await stored?.find(event.position);
  const leaf = eventLeaf(event);
  if (stored === undefined || placed?.leaf[2] !== leaf) throw eventDiffers(workspace);
  const { index } = placed;
  const present = stored.head.size;
  const isCovered = signed !== undefined && index < signed.size && signed.size <= present;
  const size = treeSize ?? (isCovered ? signed.size : present);
  requireSize(size, index, present);
  const head = signed?.size === size ? signed : undefined;
  const [inclusion, root] = await Promise.all([
    stored.roots(inclusionRanges(index, size)),
    stored.rootAt(size),
  ]);
  if (rootOfInclusion(leaf, index, size, inclusion) !== root || (head && head.root !== root))
    throw eventDiffers(workspace);
  const { id, type, stream, revision, recordedAt, metadata, data } = event;
  return {
    proof: {
      type: 'chartledger.proof.v1',
      event: { id, type, stream, revision, recordedAt, metadata, data },
      leaf,
      index,
      inclusion,
      tree_head: head ?? { type: 'chartledger.tree_root.v1', workspace, size, root },
    },
    stored,
  };
}

function requireSize(size: number, index: number, present: number): void {
  const message =
    size > present
      ? `must be at most ${present}, the current size`
      : `must be greater than ${index}, because the event was recorded later`;
  if (size > present || size <= index) throw validationError([{ field: 'tree_size', message }]);
}

/** The error for an event that does not match the tree of its workspace. */
export function eventDiffers(workspace: string): ServiceError {
  return new ServiceError(
    'conflict',
    `This event differs between the hash tree and the event log. To find out why, run: chartledger verify --workspace ${workspace}`,
  );
}

const ROWS_AT_ONCE = 16;

/** The leaves of a workspace in the read model. */
interface StoredLeaves {
  size: number;
  /** `size` of them, in order; fewer when the read model is removed in the meantime. */
  leaves: AsyncGenerator<TreeLeaf, undefined>;
}

/** Opens the current state of the read model, ignoring later additions. */
export async function storedLeaves(readModels: ReadModels, workspace: string): Promise<StoredLeaves> {
  const [row] = await readModels.load(treeModel, [workspace]);
  const head = row?.body as TreeHeadRow | undefined;
  return { size: head?.size ?? 0, leaves: read(readModels, workspace, head) };
}

async function* read(
  readModels: ReadModels,
  partition: string,
  head: TreeHeadRow | undefined,
): AsyncGenerator<TreeLeaf, undefined> {
  if (head === undefined) return undefined;
  const fullRows = Math.floor(head.size / LEAVES_A_ROW);
  for (let read = 0, after = 0; read < fullRows; ) {
    const limit = Math.min(ROWS_AT_ONCE, fullRows - read);
    const rows = await readModels.page(treeModel as ModelName<TreeLeavesRow>, { partition, after, limit });
    for (const { body } of rows) yield* body.leaves;
    if (rows.length < limit) return undefined;
    read += limit;
    after = (rows.at(-1) as (typeof rows)[number]).order;
  }
  yield* head.leaves;
  return undefined;
}
