import { recordStream } from '../../domain/events/streamNames.ts';
import type { CatalogEntry } from '../../domain/records/catalog.ts';
import { onKind } from '../../modules/auth/permissions.ts';
import { recordPath } from '../schemas/documentedParameters.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { tagOf } from '../schemas/kindNames.ts';
import { accessSubject, pathId } from '../schemas/parameters.ts';
import { callerOf } from '../server/exchange.ts';
import { answerProof, type ProofPorts } from './answerProof.ts';
import { proofExample, proofQuerySchema, proofSchema, versionPath } from './proofSchemas.ts';

/** `GET /integration/{kinds}/{id}/history/{version}/proof` */
export function readRecordProof(entry: CatalogEntry) {
  const { title, kind } = entry;
  return endpoint({
    method: 'get',
    path: `/integration/${entry.plural}/{id}/history/{version}/proof`,
    operationId: `get${title}Proof`,
    summary: `Prove a version of a ${kind}`,
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
    handler: (ports: ProofPorts) => async (exchange) => {
      const id = pathId(exchange.req, 'id', title);
      const stream = recordStream(callerOf(exchange).workspace, kind, id);
      const access = { action: 'record.proof', kind, record_id: id } as const;
      return answerProof(ports, exchange, { stream, title, access });
    },
  });
}
