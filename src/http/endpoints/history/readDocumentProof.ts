import { recordAccess } from '../../../audit/recordAccess.ts';
import { documentStream } from '../../../events/streamNames.ts';
import { eventOfVersion } from '../../../evidence/proof/proveEvent.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { callerOf } from '../../server/exchange.ts';
import {
  documentId,
  documentMember,
  documentParams,
  documentSubject,
  encounterId,
} from '../documents/documentAddress.ts';
import {
  type ProofPorts,
  pathVersion,
  proofBody,
  proofExample,
  proofQuerySchema,
  proofSchema,
  requestedTreeSize,
  versionPath,
} from './proofSchemas.ts';

/** `GET /integration/encounters/{id}/documents/{documentId}/history/{version}/proof` */
export const readDocumentProof = endpoint({
  method: 'get',
  path: `${documentMember}/history/{version}/proof`,
  operationId: 'getDocumentProof',
  summary: 'Prove a version of a document',
  description:
    'The event of one version of the document, which holds the digest of its file, and the proof that it is in the hash ' +
    'tree of the workspace; as for records.',
  tag: 'Documents',
  permission: 'read',
  params: documentParams.extend(versionPath),
  query: proofQuerySchema,
  answers: { 200: { description: 'The proof.', schema: proofSchema, example: proofExample } },
  errors: ['VersionNotFound', 'NotProvable'],
  subject: documentSubject,
  handler: (ports: ProofPorts) => async (exchange) => {
    const caller = callerOf(exchange);
    const names = { record_id: encounterId(exchange.req), document_id: documentId(exchange.req) };
    const version = pathVersion(exchange, 'Document');
    const treeSize = requestedTreeSize(exchange);
    const stream = documentStream(caller.workspace, names.record_id, names.document_id);
    const event = await eventOfVersion(ports.eventLog, stream, version, 'Document');
    const body = await proofBody(ports, event, treeSize);
    await recordAccess(ports.eventLog, caller, {
      action: 'document.proof',
      kind: 'document',
      ...names,
      query: { version, ...(treeSize !== undefined && { tree_size: treeSize }) },
    });
    return { body };
  },
});
