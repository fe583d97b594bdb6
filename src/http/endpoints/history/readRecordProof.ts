import { recordAccess } from '../../../audit/recordAccess.ts';
import { recordStream } from '../../../events/streamNames.ts';
import { eventOfVersion, proveEvent } from '../../../evidence/proof/proveEvent.ts';
import type { QueryPorts } from '../../../reads/readRecord.ts';
import type { CatalogEntry } from '../../../records/catalog.ts';
import { tagOf } from '../../document/kindNames.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { callerOf } from '../../server/exchange.ts';
import { recordPath } from '../documentedParameters.ts';
import { accessSubject, pathId } from '../parameters.ts';
import {
  pathVersion,
  proofBody,
  proofExample,
  proofQuerySchema,
  proofSchema,
  requestedTreeSize,
  versionPath,
} from './proofSchemas.ts';

/** `GET /integration/{kinds}/{id}/history/{version}/proof` */
export function readRecordProof(entry: CatalogEntry) {
  const { title, kind } = entry;
  return endpoint({
    method: 'get',
    path: `/integration/${entry.plural}/{id}/history/{version}/proof`,
    operationId: `get${title}Proof`,
    summary: `Prove a version of a ${kind}`,
    description:
      `The event of one version of the ${kind} as the event log has it, and the proof that it is in the hash tree of the ` +
      'workspace. With a signed head of that tree anybody can check it offline: `chartledger verify proof.json --head ' +
      'head.json --public-key key.pem`. A proof with a head that is signed comes from `chartledger prove`.',
    tag: tagOf(entry),
    permission: 'read',
    params: recordPath(entry).extend(versionPath),
    query: proofQuerySchema,
    answers: { 200: { description: 'The proof.', schema: proofSchema, example: proofExample } },
    errors: ['VersionNotFound', 'NotProvable'],
    subject: ({ req }) => accessSubject(kind, req.params.id),
    handler: (ports: QueryPorts) => async (exchange) => {
      const id = pathId(exchange.req, 'id', title);
      const caller = callerOf(exchange);
      const version = pathVersion(exchange, title);
      const treeSize = requestedTreeSize(exchange);
      const stream = recordStream(caller.workspace, kind, id);
      const event = await eventOfVersion(ports.eventLog, stream, version, title);
      const { proof } = await proveEvent(ports.readModels, event, treeSize);
      await recordAccess(ports.eventLog, caller, {
        action: 'record.proof',
        kind,
        record_id: id,
        query: { version, ...(treeSize !== undefined && { tree_size: treeSize }) },
      });
      return { body: proofBody(proof) };
    },
  });
}
