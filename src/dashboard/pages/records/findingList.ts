import { catalogEntry } from '../../../domain/records/catalog.ts';
import type { Step } from '../../../modules/readiness/BillingHistory.ts';
import type { CausedFinding } from '../../../modules/readiness/ReadinessReplay.ts';
import type { Readiness } from '../../../modules/readiness/readReadiness.ts';
import type { HistoryPorts } from '../../../modules/records/queries/versionPage.ts';
import { fieldLabel } from '../../components/fieldLabel.ts';
import { type Html, type HtmlValue, html } from '../../components/html.ts';
import { who } from '../../components/principal.ts';
import { documentsPath, recordPath } from '../../components/recordPaths.ts';
import { badge, code, time } from '../../components/text.ts';

/**
 * Returns what is in the way of billing an encounter, and since which write; the fields of one record that the same
 * write left that way are one item.
 */
export function findingList(
  workspace: string,
  names: HistoryPorts['names'],
  { encounter, findings }: Readiness,
): Html {
  const groups = Map.groupBy(findings, ({ rule, record: { kind, id }, text, since, cause }) =>
    JSON.stringify([rule.code, kind, id, text, since, cause.event.id]),
  );
  const items = [...groups.values()].map((group) => findingItem(workspace, names, encounter.id, group));
  return html`<ul class="findings" aria-label="Findings">${items}</ul>`;
}

function findingItem(
  workspace: string,
  names: HistoryPorts['names'],
  encounterId: string,
  group: readonly CausedFinding[],
): Html {
  const { rule, severity, text, record, since, cause } = group[0] as CausedFinding;
  const { principal } = cause.event.metadata;
  const fields = group.map(({ field }) => fieldLabel(field)).join('; ');
  return html`<li>
<p>${badge(severity, severity === 'blocks' ? 'bad' : 'neutral')} <strong>${text}</strong></p>
<p><a href="/dashboard${recordPath(workspace, record.kind, record.id)}">${catalogEntry(record.kind).title}</a>: ${fields}</p>
<p class="muted">Since ${time(since)}: ${causeLink(workspace, encounterId, cause)}, by ${who({ ...principal, name: names.nameOf(principal) ?? null })}</p>
<p class="muted">${rule.title} ${code(rule.code)}</p>
</li>`;
}

/** Returns the link to the version from which a finding follows; rule settings have no page. */
function causeLink(workspace: string, encounterId: string, { kind, id, version }: Step): HtmlValue {
  if (kind === 'workspace') return 'rule settings of the workspace were changed';
  if (kind === 'code_set') return `code set ${id} was loaded`;
  if (kind === 'document') {
    return html`<a href="/dashboard${documentsPath(workspace, encounterId, id)}">document, version ${version}</a>`;
  }
  const path = recordPath(workspace, kind, id);
  return html`<a href="/dashboard${path}?version=${version}">${catalogEntry(kind).title.toLowerCase()}, version ${version}</a>`;
}
