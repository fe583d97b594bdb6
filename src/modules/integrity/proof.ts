import { z } from 'zod';
import { eventLeaf } from '../../domain/eventLeaf.ts';
import { isJsonObject, type JsonObject } from '../../domain/events/event.ts';
import type { EventMetadata } from '../../domain/events/eventMetadata.ts';
import { mayContain } from '../../domain/events/streamNames.ts';
import { areConsistent, rootOfInclusion } from '../../domain/treeProofs.ts';
import type { PublicKeys } from './PublicKeys.ts';
import { parseStatement } from './parseStatement.ts';
import { hashSchema, type TreeHead, treeHeadSchema } from './treeHead.ts';

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
