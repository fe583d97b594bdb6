import { Readable } from 'node:stream';
import { pathId } from '../../../api/schemas/parameters.ts';
import { recordStream } from '../../../domain/events/streamNames.ts';
import { recordAccess } from '../../../modules/audit/recordAccess.ts';
import { erasureOf } from '../../../modules/erasure/erasureOf.ts';
import type { ErasurePorts } from '../../../modules/erasure/finishErasure.ts';
import { whereBytesAre } from '../../../modules/erasure/scavenges.ts';
import { certifyErasure } from '../../../modules/integrity/erasureCertificate.ts';
import type { EvidencePorts } from '../../../modules/integrity/evidencePorts.ts';
import { ServiceError, unavailable } from '../../../platform/errors.ts';
import { kindOf } from '../../components/recordQuery.ts';
import { type DashboardRoute, phiReaders, type Reply, type Visit } from '../../components/route.ts';

interface CertificatePorts extends ErasurePorts {
  evidence: Pick<EvidencePorts, 'signingKey'>;
}

/** `…/records/{kinds}/{id}/certificate`: the signed statement of what was erased of a record, and with it. */
export function recordCertificateRoutes(ports: CertificatePorts): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/workspaces/:workspace/records/:kind/:id/certificate',
      roles: phiReaders,
      handle: (visit) => certificate(ports, visit),
    },
  ];
}

async function certificate(ports: CertificatePorts, { req, workspace, caller }: Visit): Promise<Reply> {
  const { kind, title } = kindOf(req.params.kind);
  const id = pathId(req, 'id', title);
  const erasure = await erasureOf(ports, recordStream(workspace, kind, id));
  if (erasure === undefined) throw new ServiceError('not_found', `There is no erased ${kind} with this ID.`);
  // The encounters and documents that are erased with it are in its certificate.
  if (!erasure.isComplete) throw unavailable('certificate');
  const position = Math.max(...erasure.tombstones.map((tombstone) => tombstone.position));
  const bytes = await whereBytesAre(ports, position);
  const signed = await certifyErasure(ports, erasure.tombstones, bytes, async () => {
    const signingKey = await ports.evidence.signingKey();
    if (signingKey) return signingKey;
    throw new ServiceError(
      'conflict',
      'This process does not have the signing key. Where the key is, chartledger erase --certificate writes the certificate of an erased record.',
    );
  });
  await recordAccess(ports.eventLog, caller, {
    action: 'record.proof',
    kind,
    record_id: id,
    query: { certificate: true },
  });
  const body = Readable.from([`${JSON.stringify(signed, undefined, 2)}\n`]);
  return { download: { type: 'application/json', name: `erasure-${kind}.json`, body } };
}
