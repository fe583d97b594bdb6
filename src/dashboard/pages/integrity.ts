import { Readable } from 'node:stream';
import type { AppPorts } from '../../api/routes/index.ts';
import { documentIdsOf, kindOfStream, ownerKind, recordIdOf } from '../../domain/events/streams.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { recordExport } from '../../modules/integrity/export.ts';
import type { ExportFormat } from '../../modules/integrity/exportArchive.ts';
import type { EvidencePorts, Verification, VerificationOutcome } from '../../modules/integrity/jobs.ts';
import type { PublicKeys, TreeHead } from '../../modules/integrity/publicKeys.ts';
import { keyId } from '../../modules/integrity/signing.ts';
import { type HeadsStatus, headsStatus, sentHeads } from '../../modules/integrity/treeHeads.ts';
import type { PrincipalNames } from '../../modules/records/queries/principalNames.ts';
import { notFound, ServiceError } from '../../platform/errors.ts';
import { handedOut, termFields } from '../components/forms.ts';
import { titleOf } from '../components/labels.ts';
import {
  type DashboardRoute,
  type Html,
  type HtmlValue,
  html,
  phiReaders,
  type Reply,
  textOf,
  trailReaders,
  type Visit,
} from '../components/page.ts';
import { who } from '../components/people.ts';
import { definitionList, table } from '../components/tables.ts';
import { badge, bdi, code, empty, time, timeAgo } from '../components/text.ts';
import { documentsPath, recordPath } from '../components/urls.ts';

interface EvidencePagePorts extends Pick<AppPorts, 'eventLog' | 'stateStore' | 'directory' | 'names'> {
  evidence: EvidencePorts;
}

/** What the page shows of a workspace's evidence at one moment. */
interface Evidence {
  workspace: string;
  names: PrincipalNames;
  status: HeadsStatus | undefined;
  sent: TreeHead | undefined;
  verification: Verification | undefined;
}

/** Reads all of it. Rejects with `unavailable`. */
async function readEvidence(
  { stateStore, names, evidence }: EvidencePagePorts,
  workspace: string,
): Promise<Evidence> {
  const [status, sent, verification] = await Promise.all([
    headsStatus(stateStore),
    sentHeads(stateStore, [workspace]),
    evidence.verifications.last(workspace),
  ]);
  const told = verification?.findings?.erased.told ?? [];
  if (verification) await names.learn([verification.asked_by, ...told.map(({ principal }) => principal)]);
  return { workspace, names, status, sent: sent.get(workspace), verification };
}

/** A part of the page that is refreshed, by the id of its place. */
const evidenceParts = { heads: headsPart, verification: verificationPart, erasures } satisfies Record<
  string,
  (evidence: Evidence) => Html
>;

/** Returns the path of a workspace's evidence: what can be downloaded, and its forms. */
function evidencePath(workspace: string, what = ''): string {
  return `/dashboard/workspaces/${workspace}/evidence${what}`;
}

function headsPart({ workspace, status, sent }: Evidence): Html {
  if (status === undefined && sent === undefined) {
    return empty(
      html`No head has been sent yet. With the setting ${code('HEADS_TO')}, the service saves signed heads to an outside location every hour.`,
    );
  }
  const failed = status?.problem;
  return html`${
    failed &&
    html`<p class="banner" role="alert"><strong>The last attempt failed.</strong> ${failed} It will be retried automatically.</p>`
  }
${definitionList([
  ...(status
    ? ([
        ['Sent to', code(status.place)],
        [
          'Last attempt',
          html`${time(status.tried_at)}, ${timeAgo(status.tried_at)} ${failed ? badge('failed', 'bad') : badge('succeeded', 'good')}`,
        ],
      ] as const)
    : []),
  ...(sent ? headFacts(sent) : ([['Last head', 'none for this workspace yet']] as const)),
])}
${sent && html`<p><a href="${evidencePath(workspace, '/head')}" download>Download head</a></p>`}`;
}

function headFacts({ size, root, created_at }: TreeHead): [string, HtmlValue][] {
  return [
    ['Last head', html`${time(created_at)}, ${timeAgo(created_at)}`],
    ['Events', number(size)],
    ['Root', html`<code class="digest">${root}</code>`],
  ];
}

function verificationPart({ verification, workspace, names }: Evidence): Html {
  if (verification === undefined)
    return empty(html`No verification yet. To start the first one, choose “Verify now”.`);
  const { asked_by, started_at, ended_at, findings, head, outcome } = verification;
  const asked = who({ ...asked_by, name: names.nameOf(asked_by) ?? null });
  const isOver = outcome !== undefined;
  return html`${isOver ? html`<p>${badge(...verdictTexts[outcome])} ${ended_at && timeAgo(ended_at)}</p>` : progress(verification)}
${findings && findings.problems.length > 0 && lines('Problems', findings.problems)}
${definitionList([
  ['Requested by', asked],
  ['Started', time(started_at)],
  ...(ended_at ? ([['Ended', time(ended_at)]] as const) : []),
  ['Events verified', number(verification.events)],
  ...(findings
    ? ([
        ['Compared with the read model', `${number(findings.compared)} events`],
        ['Compared with saved heads', number(findings.heads)],
        ['Erased', erasedText(findings.erased)],
      ] as const)
    : []),
  ...(head ? ([['Root', html`<code class="digest">${head.root}</code>`]] as const) : []),
])}
${findings && findings.remarks.length > 0 && lines('Remarks', findings.remarks)}
${head && html`<p><a href="${evidencePath(workspace, '/verified-head')}" download>Download signed head</a></p>`}`;
}

const verdictTexts: Record<VerificationOutcome, [string, 'good' | 'bad' | 'neutral']> = {
  holds: ['Verification passed', 'good'],
  does_not_hold: ['Verification failed', 'bad'],
  nothing_compared: ['Nothing to compare with: no saved head, and no tree in the read model', 'neutral'],
  stopped: ['Interrupted: the service stopped', 'neutral'],
  failed: ['Not completed: a store may have been unavailable; see the service log', 'neutral'],
};

function progress({ position, until, events, workspace }: Verification): Html {
  // What is under way is never shown as finished.
  const percent = until === 0 ? 0 : Math.min(99, Math.floor((position / until) * 100));
  return html`<p>${badge('In progress', 'neutral')} ${percent}%, ${number(events)} events. <a href="${evidencePath(workspace)}">Reload the page</a> to see the progress; with scripts enabled, it updates automatically.</p>
<progress max="100" value="${percent}" aria-label="Verification progress"></progress>`;
}

function lines(title: string, texts: readonly string[]): Html {
  return html`<h3>${title}</h3>
<ul>${texts.map((text) => html`<li>${text}</li>`)}</ul>`;
}

type Erased = NonNullable<Verification['findings']>['erased'];

function erasedText({ count, erasures: all }: Erased): string {
  return count === 0
    ? 'nothing'
    : `${number(count)} ${count === 1 ? 'event' : 'events'}, in ${number(all)} ${all === 1 ? 'erasure' : 'erasures'} of records and documents`;
}

/** What was erased, by whom, when and why, as the verification found it. */
function erasures({ names, workspace, verification }: Evidence): Html {
  const { erasures: all, told: listed } = verification?.findings?.erased ?? { erasures: 0, told: [] };
  if (listed.length === 0) return html``;
  const title = all > listed.length ? `The last ${listed.length} erasures` : 'Erasures';
  return html`<h2>${title}</h2>
${table(
  title,
  [
    { title: 'When', isHeader: true, cell: ({ erased_at }) => time(erased_at) },
    { title: 'What', cell: ({ stream }) => titleOf(kindOfStream(stream)) },
    { title: 'ID', cell: ({ stream }) => erasedLink(workspace, stream) },
    { title: 'Versions', cell: ({ versions }) => number(versions) },
    { title: 'By', cell: ({ principal }) => who({ ...principal, name: names.nameOf(principal) ?? null }) },
    { title: 'Reason', cell: ({ reason }) => reason },
  ],
  listed.toReversed(),
)}`;
}

/** Returns the id of what was erased, with a link to what is left of it. */
function erasedLink(workspace: string, stream: string): Html {
  const kind = kindOfStream(stream);
  if (kind === 'document') {
    const { encounterId, documentId } = documentIdsOf(stream);
    return html`<a href="/dashboard${documentsPath(workspace, encounterId, documentId)}">${bdi(documentId)}</a>`;
  }
  const id = recordIdOf(stream);
  const of = ownerKind(kind) ?? kind;
  return html`<a href="/dashboard${recordPath(workspace, of, id)}">${bdi(id)}</a>`;
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}

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
    roles: trailReaders,
    handle: (visit) => handle(ports, visit),
  });
  return [
    route('get', '', page),
    { ...route('get', '/state', state), isBackground: true },
    route('post', '/verify', verify),
    { ...route('post', '/export', exportEvents), roles: phiReaders, isSensitive: true, page: path },
    route('get', '/head', sentHead),
    route('get', '/verified-head', verifiedHead),
    route('get', '/public-key', publicKey),
  ];
}

async function page(ports: EvidencePagePorts, { workspace, csrf, may }: Visit): Promise<Reply> {
  const evidence = await readEvidence(ports, workspace);
  const signs = (await ports.evidence.signingKey()) !== undefined;
  const keys = await ports.evidence.publicKeys();
  const body = html`<div class="page-head"><h1>${SECTION}</h1>
<div class="actions"><form method="post" action="${evidencePath(workspace, '/verify')}">${csrf}<button type="submit">Verify now</button></form></div></div>
<div hx-get="${evidencePath(workspace, '/state')}" hx-trigger="every 3s" hx-swap="none"></div>
<p class="muted">The history of a workspace is a hash tree. A signed head kept outside the service can prove later that nothing in it was changed, removed or inserted.</p>
<div class="record-columns"><section><h2>Verification</h2>
${place('verification', evidence)}
<p class="muted">Rereads the whole log and compares it with the read model’s tree and the saved heads. This takes minutes for a million events; requests have priority.</p></section>
<section><h2>Last saved head</h2>
${place('heads', evidence)}</section></div>
${place('erasures', evidence)}
<div class="record-columns">${
    may(phiReaders) &&
    html`<section><h2>Export</h2>
${exportForm(workspace, csrf, signs)}</section>`
  }
<section><h2>Public key</h2>
${keys ? keyLink(workspace, keys) : html`<p>This process does not have the signing key. To get the public key, run <code>chartledger secrets show signing</code>.</p>`}</section></div>`;
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
  return html`<p>The key <code>${keyId(newest)}</code>, with the chain of keys before it. It verifies heads, manifests, proofs and certificates. Compare it once with the output of <code>chartledger secrets show signing</code>: anyone who could change this page could change the key.</p>
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
