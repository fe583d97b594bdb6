import type { AppPorts } from '../../api/routes/index.ts';
import { kindOfStream } from '../../domain/events/streamNames.ts';
import type { EvidencePorts } from '../../modules/integrity/evidencePorts.ts';
import { type HeadsStatus, headsStatus } from '../../modules/integrity/headsStatus.ts';
import { sentHeads } from '../../modules/integrity/sentHeads.ts';
import type { TreeHead } from '../../modules/integrity/treeHead.ts';
import type { Verification, VerificationOutcome } from '../../modules/integrity/verification.ts';
import type { PrincipalNames } from '../../modules/records/queries/PrincipalNames.ts';
import { facts } from '../components/facts.ts';
import { type Html, type HtmlValue, html } from '../components/html.ts';
import { who } from '../components/principal.ts';
import { table } from '../components/table.ts';
import { badge, code, empty, time, timeAgo } from '../components/text.ts';

export interface EvidencePagePorts extends Pick<AppPorts, 'eventLog' | 'stateStore' | 'directory' | 'names'> {
  evidence: EvidencePorts;
}

/** What the page shows of a workspace's evidence at one moment. */
export interface Evidence {
  workspace: string;
  names: PrincipalNames;
  status: HeadsStatus | undefined;
  sent: TreeHead | undefined;
  verification: Verification | undefined;
}

/** Reads all of it. Rejects with `unavailable`. */
export async function readEvidence(
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
export const evidenceParts = { heads: headsPart, verification: verificationPart } satisfies Record<
  string,
  (evidence: Evidence) => Html
>;

/** Returns the path of a workspace's evidence: what can be downloaded, and its forms. */
export function evidencePath(workspace: string, what = ''): string {
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
${facts([
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

function verificationPart(evidence: Evidence): Html {
  const { verification, workspace, names } = evidence;
  if (verification === undefined)
    return empty(html`No verification yet. To start the first one, choose “Verify now”.`);
  const { asked_by, started_at, ended_at, findings, head, outcome } = verification;
  const asked = who({ ...asked_by, name: names.nameOf(asked_by) ?? null });
  const isOver = outcome !== undefined;
  return html`${isOver ? html`<p>${badge(...said[outcome])}</p>` : progress(verification)}
${findings && findings.problems.length > 0 && lines('Problems', findings.problems)}
${facts([
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
${findings && erasures(evidence, findings.erased)}
${head && html`<p><a href="${evidencePath(workspace, '/verified-head')}" download>Download signed head</a></p>`}`;
}

const said: Record<VerificationOutcome, [string, 'good' | 'bad' | 'neutral']> = {
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
    : `${number(count)} events, in ${number(all)} erasures of records and documents`;
}

/** By whom, when and why; whose records they were is in the audit trail. */
function erasures({ names }: Evidence, { erasures: all, told }: Erased): Html | undefined {
  if (told.length === 0) return undefined;
  const title = all > told.length ? `The last ${told.length} erasures` : 'Erasures';
  return html`<h3>${title}</h3>
${table(
  title,
  [
    { title: 'When', isHeader: true, cell: ({ erased_at }) => time(erased_at) },
    { title: 'What', cell: ({ stream }) => kindOfStream(stream) },
    { title: 'Versions', cell: ({ versions }) => number(versions) },
    { title: 'By', cell: ({ principal }) => who({ ...principal, name: names.nameOf(principal) ?? null }) },
    { title: 'Reason', cell: ({ reason }) => reason },
  ],
  told.toReversed(),
)}`;
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}
