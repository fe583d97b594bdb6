import { z } from 'zod';
import { documentStream, recordStream } from '../../domain/events/streams.ts';
import type { CatalogEntry } from '../../domain/records/schema/kind.ts';
import { validate } from '../../domain/records/schema/validation.ts';
import { type AccessRecorded, recordAccess } from '../../modules/audit/recordAccess.ts';
import { onKind } from '../../modules/auth/permissions.ts';
import { eventOfVersion, proveEvent } from '../../modules/integrity/proofs.ts';
import { sentHeads } from '../../modules/integrity/treeHeads.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { exampleRequestId } from '../schemas/examples.ts';
import { accessSubject, pathId, recordPath, wholeNumber } from '../schemas/parameters.ts';
import { tagOf, versionNumber, withArticle } from '../schemas/records.ts';
import { callerOf, type RequestContext } from '../server/requestContext.ts';
import { documentId, documentMember, documentParams, documentSubject, encounterId } from './history.ts';

/** What a path that ends in a version has in addition to the record's path. */
const versionPath = { version: versionNumber };

/** Query of a proof. */
const proofQuerySchema = z.object({
  tree_size: wholeNumber(1)
    .optional()
    .meta({
      description:
        'Prove it for the tree as it was when the workspace had this many events, for example the `size` ' +
        'of a signed head that you have; default: the current tree',
      examples: [1024],
    }),
});

const hash = z.string().meta({ description: 'SHA-256, lowercase hex' });

const treeFields = {
  workspace: z.string(),
  size: z.int().min(1).meta({ description: 'Number of events in the tree' }),
  root: hash,
};

const proofSchema = z
  .object({
    type: z.literal('chartledger.proof.v1'),
    event: z
      .object({
        id: z.string(),
        type: z.string(),
        stream: z.string(),
        revision: z.int().min(0).meta({ description: 'The version minus one' }),
        recordedAt: z.string(),
        metadata: z.record(z.string(), z.unknown()),
        data: z.record(z.string(), z.unknown()),
      })
      .meta({ description: 'The event as stored in the event log: everything that its leaf covers' }),
    leaf: hash.meta({ description: 'SHA-256 of a zero byte and the canonical JSON (RFC 8785) of `event`' }),
    index: z
      .int()
      .min(0)
      .meta({ description: 'Index of the leaf in the tree; 0 is the first event of the workspace' }),
    inclusion: z
      .array(hash)
      .meta({ description: 'The inclusion proof (RFC 9162, section 2.1.3), deepest node first' }),
    tree_head: z
      .discriminatedUnion('type', [
        z.object({ type: z.literal('chartledger.tree_root.v1'), ...treeFields }),
        z.object({
          type: z.literal('chartledger.tree_head.v1'),
          ...treeFields,
          chain: hash,
          last_event_id: z.string(),
          last_event_recorded_at: z.string().optional(),
          created_at: z.string(),
          key_rotations: z
            .array(z.record(z.string(), z.unknown()))
            .optional()
            .meta({ description: 'How the key succeeded earlier keys, if there were any' }),
          key_id: z.string(),
          signature: z.string(),
        }),
      ])
      .meta({
        description:
          'The tree that contains the event: the last signed head that was sent, if it contains the ' +
          'event; otherwise an unsigned root (`tree_root`), to be compared with a signed head',
      }),
  })
  .meta({
    id: 'Proof',
    description:
      "Proves that an event is in its workspace's hash tree. Verify it offline with `chartledger verify`.",
  });

/** A payer's only event, which is the second event of its workspace. */
const proofExample: z.output<typeof proofSchema> = {
  type: 'chartledger.proof.v1',
  event: {
    id: exampleRequestId,
    type: 'PayerUpserted',
    stream: 'clinic.payer-payer-aetna',
    revision: 0,
    recordedAt: '2026-03-14T09:30:00.000Z',
    metadata: {
      workspace: 'clinic',
      principal: { type: 'api_key', id: 'key_4fTq9LmZs2Xw8RbC' },
      requestId: exampleRequestId,
      $correlationId: exampleRequestId,
      schemaVersion: 1,
      salt: 'a55d9c3d96ead1893725dd28d6e14517',
    },
    data: { id: 'payer-aetna', name: 'Aetna' },
  },
  leaf: 'afe583cee6814f60319f3b67bfab1b20142fb309c027da247889eac2524a29c5',
  index: 1,
  inclusion: ['6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d'],
  tree_head: {
    type: 'chartledger.tree_root.v1',
    workspace: 'clinic',
    size: 2,
    root: '96cec825a5319ff604cbed2534961e372e3387975b27e2e381c85c9562e353d5',
  },
};

export type ProofPorts = QueryPorts & { stateStore: StateStore };

/** What is to be proved: its stream, what people call it, and what the audit trail says. */
interface ProofSubject {
  stream: string;
  title: string;
  access: AccessRecorded;
}

/**
 * Responds with the proof of a version, with a signed head where one was sent that covers the version. Recorded in
 * the audit trail.
 */
async function answerProof(
  { eventLog, readModels, stateStore }: ProofPorts,
  context: RequestContext,
  { stream, title, access }: ProofSubject,
): Promise<{ body: z.output<typeof proofSchema> }> {
  const caller = callerOf(context);
  const { workspace } = caller;
  const version = pathVersion(context, title);
  const { tree_size } = validate(proofQuerySchema, context.req.query);
  const recorded = await eventOfVersion(eventLog, stream, version, title);
  const signed = (await sentHeads(stateStore, [workspace])).get(workspace);
  const { proof } = await proveEvent({ eventLog, readModels }, recorded, { treeSize: tree_size, signed });
  const query = { version, ...(tree_size !== undefined && { tree_size }) };
  await recordAccess(eventLog, caller, { ...access, query });
  const { event } = proof;
  return { body: { ...proof, event: { ...event, metadata: { ...event.metadata } } } };
}

/** Returns the version named in the path. Throws `not_found` for one that nothing can have. */
function pathVersion({ req }: RequestContext, title: string): number {
  const text = String(req.params.version);
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new ServiceError('not_found', `The ${title.toLowerCase()} has no such version.`);
}

/** `GET /integration/encounters/{id}/documents/{documentId}/history/{version}/proof` */
export const readDocumentProof = endpoint({
  method: 'get',
  path: `${documentMember}/history/{version}/proof`,
  operationId: 'getDocumentProof',
  summary: 'Prove a version of a document',
  description:
    'The event of one version of the document, which contains the digest of its file, and the proof that ' +
    'it is in the hash tree of the workspace, as for records.',
  tag: 'Documents',
  permission: onKind('read', 'document'),
  params: documentParams.extend(versionPath),
  query: proofQuerySchema,
  answers: { 200: { description: 'The proof.', schema: proofSchema, example: proofExample } },
  errors: ['VersionNotFound', 'NotProvable'],
  subject: documentSubject,
  handler: (ports: ProofPorts) => async (context) => {
    const names = { record_id: encounterId(context.req), document_id: documentId(context.req) };
    const stream = documentStream(callerOf(context).workspace, names.record_id, names.document_id);
    const access = { action: 'document.proof', kind: 'document', ...names } as const;
    return answerProof(ports, context, { stream, title: 'Document', access });
  },
});

/** `GET /integration/{kinds}/{id}/history/{version}/proof` */
export function readRecordProof(entry: CatalogEntry) {
  const { title, kind } = entry;
  return endpoint({
    method: 'get',
    path: `/integration/${entry.plural}/{id}/history/{version}/proof`,
    operationId: `get${title}Proof`,
    summary: `Prove a version of ${withArticle(kind)}`,
    description:
      `The event of one version of the ${kind} as stored in the event log, and the proof that it is in ` +
      'the hash tree of the workspace, which anyone can verify offline: ' +
      '`chartledger verify proof.json --public-key key.pem`. If heads are sent (`HEADS_TO`), the proof is ' +
      'for the last head that contains the event; otherwise its root is unsigned, and is verified with a ' +
      'signed head of that size (`--head head.json`).',
    tag: tagOf(entry),
    permission: onKind('read', kind),
    params: recordPath(entry).extend(versionPath),
    query: proofQuerySchema,
    answers: { 200: { description: 'The proof.', schema: proofSchema, example: proofExample } },
    errors: ['VersionNotFound', 'NotProvable'],
    subject: ({ req }) => accessSubject(kind, req.params.id),
    handler: (ports: ProofPorts) => async (context) => {
      const id = pathId(context.req, 'id', title);
      const stream = recordStream(callerOf(context).workspace, kind, id);
      const access = { action: 'record.proof', kind, record_id: id } as const;
      return answerProof(ports, context, { stream, title, access });
    },
  });
}
