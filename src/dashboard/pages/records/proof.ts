import { Readable } from 'node:stream';
import { pathId, requestedMoment } from '../../../api/schemas/parameters.ts';
import { recordStream } from '../../../domain/events/streams.ts';
import { recordAccess } from '../../../modules/audit/recordAccess.ts';
import type { EvidencePorts } from '../../../modules/integrity/jobs.ts';
import { eventOfVersion, proveEvent } from '../../../modules/integrity/proofs.ts';
import { signTreeHead } from '../../../modules/integrity/publicKeys.ts';
import { type QueryPorts, readRecord } from '../../../modules/records/queries/records.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { type DashboardRoute, phiReaders, type Reply, type Visit } from '../../components/page.ts';
import { filledQuery, kindOf } from '../../components/recordTable.ts';
import { type ErasedPorts, orErased } from './shared.ts';

interface ProofPorts extends QueryPorts, ErasedPorts {
  evidence: Pick<EvidencePorts, 'signingKey'>;
}

/**
 * `…/records/{kinds}/{id}/proof`: the proof of one version, by default the latest, with a head that is signed now.
 */
export function recordProofRoutes(ports: ProofPorts): DashboardRoute[] {
  return [
    orErased(ports, {
      method: 'get',
      path: '/workspaces/:workspace/records/:kind/:id/proof',
      roles: phiReaders,
      query: ['version'],
      handle: (visit) => signedProof(ports, visit),
    }),
  ];
}

async function signedProof(ports: ProofPorts, { req, workspace, caller }: Visit): Promise<Reply> {
  const { eventLog, evidence } = ports;
  const entry = kindOf(req.params.kind);
  const { kind, title } = entry;
  const id = pathId(req, 'id', title);
  const asked = requestedMoment({ query: filledQuery(req) })?.moment;
  const version =
    asked && 'version' in asked ? asked.version : (await readRecord(ports, workspace, entry, id)).version;
  const event = await eventOfVersion(eventLog, recordStream(workspace, kind, id), version, title);
  const { proof, stored } = await proveEvent(ports, event);
  const signingKey = await evidence.signingKey();
  if (signingKey === undefined) {
    throw new ServiceError(
      'conflict',
      'This process does not have the signing key. Where the key is, chartledger records prove writes the proof.',
    );
  }
  const tree_head = signTreeHead(workspace, stored.head, stored.head.last, signingKey);
  await recordAccess(eventLog, caller, { action: 'record.proof', kind, record_id: id, query: { version } });
  const body = Readable.from([`${JSON.stringify({ ...proof, tree_head }, undefined, 2)}\n`]);
  return { download: { type: 'application/json', name: `proof-${kind}-version-${version}.json`, body } };
}
