import { documentStream } from '../../domain/events/streamNames.ts';
import { onKind } from '../../modules/auth/permissions.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { callerOf } from '../server/exchange.ts';
import { answerProof, type ProofPorts } from './answerProof.ts';
import {
  documentId,
  documentMember,
  documentParams,
  documentSubject,
  encounterId,
} from './documentAddress.ts';
import { proofExample, proofQuerySchema, proofSchema, versionPath } from './proofSchemas.ts';

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
  handler: (ports: ProofPorts) => async (exchange) => {
    const names = { record_id: encounterId(exchange.req), document_id: documentId(exchange.req) };
    const stream = documentStream(callerOf(exchange).workspace, names.record_id, names.document_id);
    const access = { action: 'document.proof', kind: 'document', ...names } as const;
    return answerProof(ports, exchange, { stream, title: 'Document', access });
  },
});
