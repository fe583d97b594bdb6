import { readinessAccess } from '../../audit/readinessAccesses.ts';
import { asUnreadable, UnreadableError } from '../../errors.ts';
import type { Step } from '../../readiness/BillingHistory.ts';
import type { ReadinessState } from '../../readiness/findings.ts';
import type { CausedFinding } from '../../readiness/ReadinessReplay.ts';
import { type Readiness, readReadiness } from '../../readiness/readReadiness.ts';
import type { BilledRecord } from '../../readiness/rule.ts';
import type { HistoryPorts } from '../../reads/history/versionPage.ts';
import type { QueryPorts } from '../../reads/readRecord.ts';
import { catalogEntry } from '../../records/catalog.ts';
import { instantOf } from '../../records/instantOf.ts';
import { billedSummary, changesSince } from '../readiness/billedSummary.ts';
import { type Html, type HtmlValue, html } from '../shell/html.ts';
import type { Visit } from '../shell/route.ts';
import { facts } from '../ui/facts.ts';
import { fieldLabel } from '../ui/fieldLabel.ts';
import { who } from '../ui/principal.ts';
import { fieldValue } from '../ui/recordFields.ts';
import { table } from '../ui/table.ts';
import { badge, code, empty, time, tryAgain } from '../ui/text.ts';
import { readinessBadge } from './readinessBadge.ts';
import type { RecordPart } from './recordParts.ts';
import { acknowledgePath, documentsPath, recordPath } from './recordPaths.ts';
import { unlessBehind } from './recordQuery.ts';

const texts: Record<ReadinessState, string> = {
  ready: 'Nothing keeps it from being billed.',
  blocked: 'A payer would refuse it.',
  not_completed: 'It is not marked as completed.',
  voided: 'It is void, and not to be billed.',
};

/** Whether an encounter can be billed, now or as of a moment (as it was asked for), with what is in the way. */
export async function encounterReadiness(
  ports: HistoryPorts & QueryPorts,
  { workspace, req }: Visit,
  id: string,
  asOf?: string,
): Promise<RecordPart> {
  const moment = asOf === undefined ? undefined : instantOf(asOf);
  const readiness = await unlessBehind(readReadiness(ports, workspace, id, moment)).catch(asUnreadable);
  if (readiness === undefined) {
    return { body: html`<h2>Readiness</h2>${tryAgain(req.originalUrl)}`, accesses: [] };
  }
  if (readiness instanceof UnreadableError) {
    const why = empty(
      'Something that it refers to holds an event that this version of the service cannot read.',
    );
    return { body: html`<h2>Readiness</h2>${why}`, accesses: [] };
  }
  const { names } = ports;
  const { state, findings, encounter } = readiness;
  await names.learn(findings.map(({ cause }) => cause.event.metadata.principal));
  const billed = await billedSummary(workspace, names, readiness);
  const mayChangesStay = asOf === undefined && changesSince(readiness).length > 0;
  return {
    body: html`<h2>Readiness</h2>
<p>${readinessBadge(state)} ${texts[state]}</p>
${state === 'voided' && voidFacts(encounter)}
${findings.length > 0 && findingTable(workspace, names, readiness)}
${billed && html`<h3>What was billed</h3>${billed}`}
${mayChangesStay && html`<p><a role="button" class="outline secondary" href="/dashboard${acknowledgePath(workspace, id)}">The changes may stay</a></p>`}`,
    accesses: [readinessAccess(readiness, asOf)],
  };
}

/** Since when, and why, an encounter is void, as it was sent. */
function voidFacts({ fields }: BilledRecord): Html {
  return facts([
    ['Void since', fieldValue(fields.voided_at)],
    ['Reason', fieldValue(fields.void_reason)],
  ]);
}

function findingTable(
  workspace: string,
  names: HistoryPorts['names'],
  { encounter, findings }: Readiness,
): Html {
  const path = ({ kind, id }: { kind: string; id: string }) => `/dashboard${recordPath(workspace, kind, id)}`;
  return table<CausedFinding>(
    'What is in the way',
    [
      {
        title: 'What',
        isHeader: true,
        cell: ({ rule, severity, text }) =>
          html`${badge(severity, severity === 'blocks' ? 'bad' : 'neutral')} ${text}<br><small class="muted">${rule.title}: ${code(rule.code)}</small>`,
      },
      {
        title: 'Where',
        cell: ({ record, field }) =>
          html`<a href="${path(record)}">${catalogEntry(record.kind).title}</a>: ${fieldLabel(field)}`,
      },
      {
        title: 'Since',
        cell: ({ since, cause }) => html`${time(since)}<br>${causeLink(workspace, encounter.id, cause)}`,
      },
      {
        title: 'By whom',
        cell: ({ cause }) => {
          const { principal } = cause.event.metadata;
          return who({ ...principal, name: names.nameOf(principal) ?? null });
        },
      },
    ],
    findings,
  );
}

/** Leads to the version from which a finding follows; what the rules go by has no page. */
function causeLink(workspace: string, encounterId: string, { kind, id, version }: Step): HtmlValue {
  if (kind === 'workspace') return 'Set for the rules of the workspace.';
  if (kind === 'code_set') return `Code set ${id} was loaded.`;
  if (kind === 'document') {
    return html`<a href="/dashboard${documentsPath(workspace, encounterId, id)}">Document, version ${version}</a>`;
  }
  const path = recordPath(workspace, kind, id);
  return html`<a href="/dashboard${path}?version=${version}">${catalogEntry(kind).title}, version ${version}</a>`;
}
