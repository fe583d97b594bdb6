import { Readable } from 'node:stream';
import { pathId } from '../../../api/schemas/parameters.ts';
import { dataAs, type RecordedEvent } from '../../../domain/events/event.ts';
import type { RecordErased } from '../../../domain/events/payloads.ts';
import { documentIdsOf, kindOfStream, recordIdOf, recordStream } from '../../../domain/events/streams.ts';
import { recordAccess } from '../../../modules/audit/recordAccess.ts';
import { erasureOf } from '../../../modules/erasure/erase.ts';
import type { ErasurePorts } from '../../../modules/erasure/finish.ts';
import { locateErasedBytes } from '../../../modules/erasure/scavenges.ts';
import { certifyErasure, type ErasureCertificate } from '../../../modules/integrity/erasureCertificate.ts';
import type { EvidencePorts } from '../../../modules/integrity/jobs.ts';
import type { PrincipalNames } from '../../../modules/records/queries/principalNames.ts';
import { ServiceError, unavailable } from '../../../platform/errors.ts';
import { titleOf } from '../../components/labels.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  phiReaders,
  type Reply,
  type Visit,
} from '../../components/page.ts';
import { who } from '../../components/people.ts';
import { kindOf, recordCrumbs, recordsSection } from '../../components/recordTable.ts';
import { definitionList, table } from '../../components/tables.ts';
import { bdi, code, time } from '../../components/text.ts';
import { recordPath } from '../../components/urls.ts';
import { evidenceLine } from './evidenceFooter.ts';

interface CertificatePorts extends ErasurePorts {
  evidence: Pick<EvidencePorts, 'signingKey'>;
  names: PrincipalNames;
}

/** `…/records/{kinds}/{id}/certificate`: what was erased of a record, and with it; to read, and as the signed statement. */
export function recordCertificateRoutes(ports: CertificatePorts): DashboardRoute[] {
  const path = '/workspaces/:workspace/records/:kind/:id/certificate';
  return [
    { method: 'get', path, roles: phiReaders, handle: (visit) => certificatePage(ports, visit) },
    { method: 'get', path: `${path}/download`, roles: phiReaders, handle: (visit) => download(ports, visit) },
  ];
}

/** Rejects with `not_found`, `unavailable`, and `conflict` where the process has no signing key. */
async function certificateOf(ports: CertificatePorts, { req, workspace, caller }: Visit) {
  const entry = kindOf(req.params.kind);
  const { kind, title } = entry;
  const id = pathId(req, 'id', title);
  const erasure = await erasureOf(ports, recordStream(workspace, kind, id));
  if (erasure === undefined) throw new ServiceError('not_found', `There is no erased ${kind} with this ID.`);
  // The encounters and documents that are erased with it are in its certificate.
  if (!erasure.isComplete) throw unavailable('certificate');
  const { position } = erasure.tombstones.at(-1) as RecordedEvent;
  const bytes = await locateErasedBytes(ports, position);
  const certificate = await certifyErasure(ports, erasure.tombstones, bytes, async () => {
    const signingKey = await ports.evidence.signingKey();
    if (signingKey) return signingKey;
    throw new ServiceError(
      'conflict',
      'This process does not have the signing key. Where the key is, chartledger records erase --certificate writes the certificate of an erased record.',
    );
  });
  await recordAccess(ports.eventLog, caller, {
    action: 'record.proof',
    kind,
    record_id: id,
    query: { certificate: true },
  });
  return { entry, id, certificate };
}

async function download(ports: CertificatePorts, visit: Visit): Promise<Reply> {
  const { entry, certificate } = await certificateOf(ports, visit);
  const body = Readable.from([`${JSON.stringify(certificate, undefined, 2)}\n`]);
  return { download: { type: 'application/json', name: `erasure-${entry.kind}.json`, body } };
}

async function certificatePage(ports: CertificatePorts, visit: Visit): Promise<Reply> {
  const { workspace, user, requestId } = visit;
  const { entry, id, certificate } = await certificateOf(ports, visit);
  const { kind, title } = entry;
  const own = certificate.tombstones.filter(
    ({ event }) => event.stream === recordStream(workspace, kind, id),
  );
  const { event, leaf } = (own.at(-1) ?? certificate.tombstones.at(-1)) as Proven;
  const { principal } = event.metadata;
  await ports.names.learn([principal]);
  const path = `/dashboard${recordPath(workspace, kind, id)}`;
  const { tree_head: head, created_at } = certificate;
  const footer = evidenceLine({
    ...{ version: event.revision + 1, eventId: event.id, leaf },
    ...{ size: head.size, root: head.root, keyId: certificate.key_id },
  });
  const body = html`${recordCrumbs(workspace, entry, { id, name: undefined })}
<div class="paper">
<div class="record-heading"><h1>Certificate of erasure</h1>
<div class="actions"><button type="button" data-print hidden>Print or save as PDF</button>
<a role="button" class="outline secondary" href="${path}/certificate/download" download>Download signed certificate</a></div></div>
<p>${title} ${code(id)}${withIt(kind, certificate)} permanently removed from Chartledger.</p>
${definitionList([
  ['Erased', time(event.recordedAt)],
  ['By', who({ ...principal, name: ports.names.nameOf(principal) ?? null })],
  ['Reason', bdi(dataAs<RecordErased>(event.data).reason)],
  ['Workspace', code(workspace)],
  ['Left in files', bytesText(certificate)],
])}
<h2>What was erased</h2>
${erasedTable(certificate)}
<h2>Proof</h2>
${definitionList([
  ['Events in the history', head.size.toLocaleString('en-US')],
  ['Root hash (SHA-256) when this page was made', html`<code class="digest">${head.root}</code>`],
  ['Signed', time(created_at)],
  ['Signing key', html`<code class="digest">${certificate.key_id}</code>`],
  ['Issued to', html`${bdi(user.name)}, request ${code(requestId)}`],
])}
<h2>How to verify</h2>
<ol>
<li>Get the signed certificate (the JSON file that comes with this page) and the public key (<code>chartledger.pem</code>, from the page Evidence).</li>
<li>Run <code>chartledger verify erasure-${kind}.json --public-key chartledger.pem</code>. It needs neither the service nor a network.</li>
<li>The hashes above are those in the certificate. A signed head that was kept outside the service shows that the history contains them unchanged.</li>
</ol>
${footer}
</div>`;
  const help = ['The signed file is the proof.', 'guides/erase-a-patient', 'what-it-proves'] as const;
  return { page: { title: 'Certificate of erasure', help, section: recordsSection, body } };
}

type Proven = ErasureCertificate['tombstones'][number];

function erasedTable({ tombstones }: ErasureCertificate): Html {
  return table<Proven>(
    'What was erased',
    [
      {
        title: 'What',
        isHeader: true,
        cell: ({ event: { stream } }) => html`${titleOf(kindOfStream(stream))} ${code(idOf(stream))}`,
      },
      {
        title: 'Versions',
        isNumber: true,
        cell: ({ event }) => event.revision + 1 - dataAs<RecordErased>(event.data).parts,
      },
      { title: 'Erased', cell: ({ event }) => time(event.recordedAt) },
      {
        title: 'Hash of the erasure (SHA-256)',
        cell: ({ leaf }) => html`<code class="digest">${leaf}</code>`,
      },
    ],
    tombstones,
  );
}

/** Returns how many encounters and documents were erased with a record of the kind `own`, and the verb. */
function withIt(own: string, { tombstones }: ErasureCertificate): string {
  const kinds = tombstones.map(({ event: { stream } }) => kindOfStream(stream));
  const counts = [...Map.groupBy(kinds, (kind) => kind)]
    .map(([kind, { length }]) => ({ kind, length: kind === own ? length - 1 : length }))
    .filter(({ length }) => length > 0)
    .map(({ kind, length }) => `${length.toLocaleString('en-US')} ${length === 1 ? kind : `${kind}s`}`);
  return counts.length === 0 ? ' was' : `, with ${counts.join(' and ')}, was`;
}

function idOf(stream: string): string {
  return kindOfStream(stream) === 'document' ? documentIdsOf(stream).documentId : recordIdOf(stream);
}

function bytesText({ bytes, created_at }: ErasureCertificate): Html {
  if (bytes?.erased) return html`nothing, as of ${time(created_at)}`;
  const nodes = bytes?.nodes ?? [];
  return html`being removed${nodes.length > 0 && ` on ${nodes.join(', ')}`}, as of ${time(created_at)}`;
}
