import { z } from 'zod';
import { dataAs, type RecordedEvent } from '../../domain/events/event.ts';
import { erasureStep, type RecordErased } from '../../domain/events/payloads.ts';
import type { WorkspaceDeleted } from '../auth/apiKeys.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import { inclusionProofSchema, parseStatement, proofProblem, proveEvent } from './proofs.ts';
import {
  type PublicKeys,
  type SigningKey,
  signatureFields,
  signObject,
  signTreeHead,
  treeHeadSchema,
} from './publicKeys.ts';

const CERTIFICATE = 'chartledger.erasure_certificate.v1';

/** An event with its place in the head's tree. */
const provenSchema = inclusionProofSchema.omit({ type: true, tree_head: true });

const certificateSchema = z.strictObject({
  type: z.literal(CERTIFICATE),
  workspace: z.string(),
  /** The tombstones of what was erased; empty only for the deletion of an empty workspace. */
  tombstones: z.array(provenSchema),
  /** The event that says that the whole workspace was deleted, if it was. */
  deletion: provenSchema.optional(),
  tree_head: treeHeadSchema,
  /** ISO 8601, UTC. */
  created_at: z.string(),
  /** At that time: whether the stores' files contained no bytes of it, and which nodes of the event log were being scavenged. */
  bytes: z.strictObject({ erased: z.boolean(), nodes: z.array(z.string()) }).optional(),
  ...signatureFields,
});

/** Where bytes of what was erased still are. */
interface ErasedBytes {
  erased: boolean;
  nodes: readonly { node: string }[];
}

/** A signed statement of what was erased, by whom, when and why, under which head; can be checked offline. */
export type ErasureCertificate = z.infer<typeof certificateSchema>;

/**
 * Certifies the tombstones of an erasure, all of one workspace; `deletion`: the event that says that the workspace was deleted, behind
 * them. Rejects as `proveEvent` does.
 */
export async function certifyErasure(
  ports: QueryPorts,
  tombstones: readonly RecordedEvent[],
  { erased, nodes }: ErasedBytes,
  signingKey: () => Promise<SigningKey>,
  deletion?: RecordedEvent,
): Promise<ErasureCertificate> {
  const inLogOrder = tombstones.toSorted((a, b) => a.position - b.position);
  const last = (deletion ?? inLogOrder.at(-1)) as RecordedEvent;
  const { workspace } = last.metadata;
  const { stored } = await proveEvent(ports, last);
  const prove = async (event: RecordedEvent) => {
    const { proof } = await proveEvent(ports, event, { treeSize: stored.head.size });
    const { type: _type, tree_head: _head, ...proven } = proof;
    return proven;
  };
  const proofs: ErasureCertificate['tombstones'] = [];
  for (const event of inLogOrder) proofs.push(await prove(event));
  // Requested after the tree, see `SigningKey`.
  const key = await signingKey();
  const body = {
    type: CERTIFICATE as typeof CERTIFICATE,
    workspace,
    tombstones: proofs,
    ...(deletion && { deletion: await prove(deletion) }),
    tree_head: signTreeHead(workspace, stored.head, stored.head.last, key),
    created_at: new Date().toISOString(),
    bytes: { erased, nodes: nodes.map(({ node }) => node) },
  };
  return signObject(body, key);
}

/** Returns the certificate in a JSON text, or which of its fields is invalid; undefined when the text is something else. */
export function parseCertificate(
  text: string,
): { certificate: ErasureCertificate } | { problem: string } | undefined {
  const found = parseStatement(text, /^chartledger\.erasure_certificate\./, certificateSchema);
  return found && 'statement' in found ? { certificate: found.statement } : found;
}

/** Returns what is wrong with a certificate, worded to follow `The certificate is not valid: `; undefined: nothing. */
export function certificateProblem(
  certificate: ErasureCertificate,
  publicKeys: PublicKeys,
): string | undefined {
  const { workspace, tombstones, deletion, tree_head } = certificate;
  const problem = publicKeys.problem(certificate);
  if (problem) return problem;
  if (tree_head.workspace !== workspace) return `tree_head belongs to the workspace ${tree_head.workspace}`;
  if (tombstones.length === 0 && deletion === undefined) return 'it certifies nothing';
  const wrongIn = (proven: ErasureCertificate['tombstones'][number]) =>
    proofProblem({ type: 'chartledger.proof.v1', ...proven, tree_head }, publicKeys);
  for (const [index, tombstone] of tombstones.entries()) {
    if (!erasureStep(tombstone.event)) return `tombstones.${index} is not a tombstone`;
    const wrong = wrongIn(tombstone);
    if (wrong) return `tombstones.${index}: ${wrong}`;
  }
  if (deletion === undefined) return undefined;
  if (deletion.event.type !== 'WorkspaceDeleted') return 'deletion is not the deletion of a workspace';
  const wrong = wrongIn(deletion);
  return wrong && `deletion: ${wrong}`;
}

/** Returns what a certificate says was erased, a line each. */
export function certifiedErasures({ tombstones, deletion, bytes, created_at }: ErasureCertificate): string[] {
  const erasures = tombstones.map(({ event: { stream, revision, recordedAt, metadata, data } }) => {
    const { reason, parts } = dataAs<RecordErased>(data);
    const { type, id } = metadata.principal;
    const versions = revision + 1 - parts;
    return `${recordedAt} ${stream}, ${versions} ${versions === 1 ? 'version' : 'versions'}, by ${type} ${id}: ${reason}`;
  });
  return [
    ...erasures,
    ...(deletion === undefined ? [] : [deletionText(deletion.event)]),
    ...(bytes === undefined ? [] : [`${created_at} ${bytesText(bytes)}`]),
  ];
}

function deletionText({
  recordedAt,
  metadata,
  data,
}: NonNullable<ErasureCertificate['deletion']>['event']): string {
  const { workspace, reason, records, documents, messages } = dataAs<WorkspaceDeleted>(data);
  const { type, id } = metadata.principal;
  const counts = [...Object.entries(records), ['document', documents], ['message', messages]] as const;
  const erased = counts.flatMap(([what, count]) => (count === 0 ? [] : [`${what}: ${count}`]));
  return `${recordedAt} the workspace ${workspace}, by ${type} ${id}: ${reason} (${erased.join(', ') || 'it was empty'})`;
}

function bytesText({ erased, nodes }: NonNullable<ErasureCertificate['bytes']>): string {
  if (erased) return 'the files of the stores contained none of its bytes';
  const where = nodes.length > 0 ? `, on ${nodes.join(', ')}` : '';
  return `files of the event log still contained its bytes${where}`;
}
