import { Readable } from 'node:stream';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import type { ExportFormat } from '../../modules/integrity/manifest.ts';

import type { PublicKeys } from '../../modules/integrity/PublicKeys.ts';
import { recordExport } from '../../modules/integrity/recordExport.ts';
import { sentHeads } from '../../modules/integrity/sentHeads.ts';
import { keyId } from '../../modules/integrity/signing.ts';
import { notFound, ServiceError } from '../../platform/errors.ts';
import { type Html, html } from '../components/html.ts';
import { type DashboardRoute, phiReaders, type Reply, type Visit } from '../components/route.ts';
import { textOf } from '../components/sentForm.ts';
import { handedOut, termFields } from '../components/termFields.ts';
import {
  type Evidence,
  type EvidencePagePorts,
  evidenceParts,
  evidencePath,
  readEvidence,
} from './evidenceParts.ts';

const path = '/workspaces/:workspace/evidence';
const SECTION = 'Evidence';

/**
 * `…/evidence`: what proves that nobody altered a workspace's history; refreshed every three seconds where scripts
 * run.
 */
export function evidenceRoutes(ports: EvidencePagePorts): DashboardRoute[] {
  const route = (
    method: DashboardRoute['method'],
    suffix: string,
    handle: (ports: EvidencePagePorts, visit: Visit) => Promise<Reply>,
  ): DashboardRoute => ({
    method,
    path: path + suffix,
    roles: phiReaders,
    handle: (visit) => handle(ports, visit),
  });
  return [
    route('get', '', page),
    { ...route('get', '/state', state), isBackground: true },
    route('post', '/verify', verify),
    { ...route('post', '/export', exportEvents), isSensitive: true, page: path },
    route('get', '/head', sentHead),
    route('get', '/verified-head', verifiedHead),
    route('get', '/public-key', publicKey),
  ];
}

async function page(ports: EvidencePagePorts, { workspace, csrf }: Visit): Promise<Reply> {
  const evidence = await readEvidence(ports, workspace);
  const signs = (await ports.evidence.signingKey()) !== undefined;
  const keys = await ports.evidence.publicKeys();
  const body = html`<div class="page-head"><h1>${SECTION}</h1>
<div hx-get="${evidencePath(workspace, '/state')}" hx-trigger="every 3s" hx-swap="none"></div></div>
<p class="muted">The history of a workspace is a hash tree. A signed head kept outside the service can prove later that nothing in it was changed, removed or inserted.</p>
<h2>Last saved head</h2>
${place('heads', evidence)}
<h2>Verification</h2>
<p>Rereads the whole log and compares it with the read model’s tree and the saved heads. This takes minutes for a million events; requests have priority.</p>
${place('verification', evidence)}
<form method="post" action="${evidencePath(workspace, '/verify')}">${csrf}<div class="actions"><button type="submit">Verify now</button></div></form>
<h2>Export</h2>
${exportForm(workspace, csrf, signs)}
<h2>Public key</h2>
${keys ? keyLink(workspace, keys) : html`<p>This process does not have the signing key. To get the public key, run <code>chartledger signing-key</code>.</p>`}`;
  return { page: { title: SECTION, section: SECTION, body } };
}

function place(id: keyof typeof evidenceParts, evidence: Evidence): Html {
  return html`<div id="evidence-${id}">${evidenceParts[id](evidence)}</div>`;
}

function exportForm(workspace: string, csrf: Html, signs: boolean): Html {
  const holds = signs
    ? html`The ZIP contains the events, a signed manifest and the public key. Unpack it, and check it anywhere with <code>chartledger verify ${workspace}.ndjson --public-key chartledger.pem</code>.`
    : html`This process does not have the signing key, so the ZIP has no manifest. To create one, run <code>chartledger export</code> where the key is.`;
  return html`<p>All events of the workspace, with everything that was ever sent and not erased. ${holds} Each export is recorded in the audit trail.</p>
<form method="post" action="${evidencePath(workspace, '/export')}">${csrf}
<details><summary>For a recipient outside the organization</summary>
${termFields()}
</details>
<div class="actions"><button type="submit" class="outline" name="format" value="ndjson">Export as NDJSON</button>
<button type="submit" class="outline secondary" name="format" value="csv">Export as CSV</button></div>
</form>`;
}

function keyLink(workspace: string, { newest }: PublicKeys): Html {
  return html`<p>The key <code>${keyId(newest)}</code>, with the chain of keys before it. It verifies heads, manifests, proofs and certificates. Compare it once with the output of <code>chartledger signing-key</code>: anyone who could change this page could change the key.</p>
<p><a href="${evidencePath(workspace, '/public-key')}" download>Download the public key</a></p>`;
}

async function state(ports: EvidencePagePorts, { workspace }: Visit): Promise<Reply> {
  const evidence = await readEvidence(ports, workspace);
  const drawn = Object.entries(evidenceParts).map(
    ([id, draw]) => html`<div id="evidence-${id}" hx-swap-oob="innerHTML">${draw(evidence)}</div>`,
  );
  return { fragment: html`${drawn}` };
}

async function verify({ eventLog, evidence }: EvidencePagePorts, visit: Visit): Promise<Reply> {
  const { workspace, caller, notice } = visit;
  try {
    await evidence.verifications.start(workspace, caller.principal, () =>
      recordAccess(eventLog, caller, { action: 'verify' }),
    );
    notice('Verification started.');
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'conflict')) throw error;
    notice(error.message);
  }
  return { redirect: `/workspaces/${workspace}/evidence` };
}

async function exportEvents({ eventLog, evidence }: EvidencePagePorts, visit: Visit): Promise<Reply> {
  const { workspace, form } = visit;
  const { caller } = handedOut(visit);
  const format: ExportFormat = textOf(form, 'format') === 'csv' ? 'csv' : 'ndjson';
  const job = { workspace, filters: { from: null, to: null, kind: null }, format };
  const body = await evidence.exports.start(job, caller, () => recordExport(eventLog, caller, job, 1));
  const today = new Date().toISOString().slice(0, 10);
  return { download: { type: 'application/zip', name: `${workspace}-${today}.zip`, body } };
}

async function sentHead({ stateStore }: EvidencePagePorts, { workspace }: Visit): Promise<Reply> {
  return headFile('head', (await sentHeads(stateStore, [workspace])).get(workspace), workspace);
}

async function verifiedHead({ evidence }: EvidencePagePorts, { workspace }: Visit): Promise<Reply> {
  return headFile('verified-head', (await evidence.verifications.last(workspace))?.head, workspace);
}

function headFile(name: string, head: object | undefined, workspace: string): Reply {
  if (head === undefined) throw notFound('Head');
  const text = `${JSON.stringify(head, undefined, 2)}\n`;
  return file('application/json', `${workspace}-${name}.json`, text);
}

async function publicKey({ evidence }: EvidencePagePorts): Promise<Reply> {
  const keys = await evidence.publicKeys();
  if (keys === undefined) throw notFound('Public key');
  return file('application/x-pem-file', 'chartledger.pem', keys.text());
}

function file(type: string, name: string, text: string): Reply {
  return { download: { type, name, body: Readable.from([text]) } };
}
