import { recordsModel } from '../../../../projections/records.ts';
import { kindPartition } from '../../../domain/events/streams.ts';
import { caughtUp, type Total, totalOf } from '../../../modules/records/queries/paging.ts';
import type { QueryPorts } from '../../../modules/records/queries/records.ts';
import { totalText } from '../../components/charts.ts';
import { searchForm } from '../../components/forms.ts';
import { html, type Page, type Visit } from '../../components/page.ts';
import { pluralTitle, recordsSection, soughtKinds, unlessBehind } from '../../components/recordTable.ts';
import { recordsPath } from '../../components/urls.ts';

/** Resolves with the page that shows no records until something is searched for: the search, and how many there are of each kind. */
export async function startPage(ports: QueryPorts, visit: Visit): Promise<Page> {
  const { workspace } = visit;
  const totals = await unlessBehind(readTotals(ports, workspace));
  const tiles = soughtKinds.map((entry, place) => {
    const total = totals?.[place];
    return html`<div><dt><a href="/dashboard${recordsPath(workspace, entry.kind)}">${pluralTitle(entry)}</a></dt>
<dd>${total && totalText(total)}</dd></div>`;
  });
  return {
    title: recordsSection,
    section: recordsSection,
    body: html`<h1>Records</h1>
${searchForm(visit)}
<h2>All records</h2>
<dl class="tiles">${tiles}</dl>`,
  };
}

async function readTotals(ports: QueryPorts, workspace: string): Promise<Total[]> {
  await caughtUp(ports, recordsModel, 'list', { refusesEarly: true });
  const partitions = soughtKinds.map(({ kind }) => kindPartition(workspace, kind));
  return Promise.all(partitions.map((partition) => totalOf(ports.readModels, recordsModel, { partition })));
}
