import { z } from 'zod';
import { momentQuerySchema, pathId } from '../../../api/schemas/parameters.ts';
import { statusOf } from '../../../api/server/errorAnswer.ts';
import type { CatalogEntry } from '../../../domain/records/catalog.ts';
import { diffFields, dottedFields, type FieldChange } from '../../../domain/records/diff.ts';
import { fieldOrder } from '../../../domain/records/schema/fieldOrder.ts';
import { validate } from '../../../domain/records/schema/validate.ts';
import { recordAccess } from '../../../modules/audit/recordAccess.ts';
import { type QueryPorts, type RecordView, readRecord } from '../../../modules/records/queries/readRecord.ts';
import { readRecordAt } from '../../../modules/records/queries/recordHistory.ts';
import type { ServiceError } from '../../../platform/errors.ts';
import { after, before, changeWord } from '../../components/changes.ts';
import { fieldLabel } from '../../components/fieldLabel.ts';
import { formError, input } from '../../components/formFields.ts';
import { type Html, html } from '../../components/html.ts';
import { fieldValue } from '../../components/recordFields.ts';
import { kindOf, recordCrumbs, recordsSection, refusedQuery } from '../../components/recordQuery.ts';
import { type DashboardRoute, type Reply, recordReaders, type Visit } from '../../components/route.ts';
import { table } from '../../components/table.ts';
import { time } from '../../components/text.ts';
import { type ErasedPorts, orErased } from './orErased.ts';

const { version } = momentQuerySchema.shape;
const querySchema = z.object({ from: version.unwrap(), to: version.unwrap() });

interface ComparePorts extends QueryPorts, ErasedPorts {}

/** `…/records/{kinds}/{id}/compare?from=1&to=3`: two versions of a record, field by field. */
export function recordCompareRoutes(ports: ComparePorts): DashboardRoute[] {
  return [
    orErased(ports, {
      method: 'get',
      path: '/workspaces/:workspace/records/:kind/:id/compare',
      roles: recordReaders,
      query: Object.keys(querySchema.shape),
      handle: (visit) => comparePage(ports, visit),
    }),
  ];
}

interface Comparison {
  from: RecordView;
  to: RecordView;
}

async function comparePage(ports: ComparePorts, visit: Visit): Promise<Reply> {
  const { eventLog } = ports;
  const { req, workspace, caller } = visit;
  const entry = kindOf(req.params.kind);
  const id = pathId(req, 'id', entry.title);
  const read = (version: number) => readRecordAt(eventLog, workspace, entry, id, { version });
  let compared: Comparison | undefined;
  let refusal: ServiceError | undefined;
  try {
    const asked = validate(querySchema, req.query);
    const [from, to] = await Promise.all([read(asked.from), read(asked.to)]);
    compared = { from, to };
    const subject = { action: 'record.read', kind: entry.kind, record_id: id } as const;
    await recordAccess(
      eventLog,
      caller,
      { ...subject, query: { version: asked.from } },
      { ...subject, query: { version: asked.to } },
    );
  } catch (error) {
    refusal = refusedQuery(error);
    // A record whose id is in use again has other versions to compare.
    if (refusal.code === 'gone') await readRecord(ports, workspace, entry, id);
  }
  const body = html`${recordCrumbs(workspace, entry, id)}
<h1>Compare versions</h1>
${versionForm(req.query, refusal)}
${compared && comparison(entry, compared)}`;
  const status = refusal ? statusOf[refusal.code] : 200;
  return { page: { title: 'Compare versions', section: recordsSection, status, body } };
}

function versionForm(query: Visit['req']['query'], refusal: ServiceError | undefined): Html {
  const field = (name: 'from' | 'to', label: string) =>
    input({
      name,
      label,
      type: 'number',
      min: 1,
      isRequired: true,
      value: [query[name] ?? ''].flat().join(),
    });
  return html`<form method="get" class="moment">
${formError(refusal?.message)}
<div class="line">${field('from', 'From version')}${field('to', 'To version')}<button type="submit" class="outline">Compare</button></div>
</form>`;
}

interface Row {
  field: string;
  from: unknown;
  to: unknown;
  change: FieldChange | undefined;
}

/** Returns every field that either version has, in the order of the schema. */
function rowsOf(entry: CatalogEntry, { from, to }: Comparison): Row[] {
  const [old, now] = [dottedFields(from.record), dottedFields(to.record)];
  const changes = new Map(diffFields(from.record, to.record).map((change) => [change.field, change]));
  const place = fieldOrder(entry);
  return [...new Set([...old.keys(), ...now.keys()])]
    .sort((a, b) => place(a) - place(b))
    .map((field) => ({ field, from: old.get(field), to: now.get(field), change: changes.get(field) }));
}

function comparison(entry: CatalogEntry, compared: Comparison): Html {
  const { from, to } = compared;
  const rows = rowsOf(entry, compared);
  const differing = rows.filter(({ change }) => change !== undefined).length;
  const count = differing === 1 ? 'One field differs.' : `${differing || 'No'} fields differ.`;
  return html`<p>Version ${from.version} was recorded at ${time(from.updated_at)}, version ${to.version} at ${time(to.updated_at)}. <strong>${count}</strong></p>
${table<Row>(
  'Fields of both versions',
  [
    { title: 'Field', isHeader: true, cell: ({ field }) => fieldLabel(field) },
    {
      title: `Version ${from.version}`,
      cell: (row) => (row.change && row.from !== undefined ? before(row.from) : fieldValue(row.from)),
    },
    {
      title: `Version ${to.version}`,
      cell: (row) => (row.change && row.to !== undefined ? after(row.to) : fieldValue(row.to)),
    },
    {
      title: 'Difference',
      cell: ({ change }) => change && html`<span class="change-word">${changeWord(change)}</span>`,
    },
  ],
  rows,
)}`;
}
