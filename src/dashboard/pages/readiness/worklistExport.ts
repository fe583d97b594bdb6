import { Readable } from 'node:stream';
import { worklistAccesses } from '../../../modules/audit/accesses.ts';
import { recordAccess, recordFurtherAccess } from '../../../modules/audit/recordAccess.ts';
import type { RuleSettings } from '../../../modules/readiness/rules/rule.ts';
import { readProgress, requireSelectedRecords, wholeWorklist } from '../../../modules/readiness/worklist.ts';
import type { WorklistEntry } from '../../../modules/readiness/worklistModel.ts';
import type { RecordNames } from '../../../modules/records/queries/lists.ts';
import type { QueryPorts } from '../../../modules/records/queries/records.ts';
import { csvLine } from '../../../platform/csv.ts';
import { unavailable } from '../../../platform/errors.ts';
import { defectText } from '../../components/defects.ts';
import type { Reply, Visit } from '../../components/page.ts';
import { readNames } from '../records/shared.ts';
import { type WorklistQuery, worklistQuery } from './worklistQuery.ts';
import { namedRecords } from './worklistTable.ts';

const columns = [
  'encounter_id',
  'state',
  'date_of_service',
  'patient_id',
  'patient_name',
  'payer_id',
  'payer_name',
  'facility_id',
  'facility_name',
  'provider_id',
  'provider_name',
  'defect',
  'rule',
  'severity',
  'record_kind',
  'record_id',
  'field',
  'billed_at',
  'claim_id',
  'filing_last_day',
] as const;

/**
 * Resolves with the worklist within the limits of its page as a CSV file: a line for each finding, and one for an
 * encounter without any. What each part shows is recorded before it is sent. Rejects with `unavailable` where the
 * worklist is not current: a file would not reveal that later.
 */
export async function exportWorklist(ports: QueryPorts, visit: Visit): Promise<Reply> {
  const { workspace, req } = visit;
  const query = worklistQuery(req);
  await requireSelectedRecords(ports.eventLog, workspace, query.selection);
  const { isCurrent, settings } = await readProgress(ports, workspace);
  if (!isCurrent) throw unavailable('list');
  const lines = exported(ports, visit, query, settings);
  // What may not be read, or cannot be recorded, is refused while there is no response yet.
  const { value: first = '' } = await lines.next();
  const today = new Date().toISOString().slice(0, 10);
  return {
    download: {
      type: 'text/csv; charset=utf-8',
      name: `readiness-${workspace}-${today}.csv`,
      body: Readable.from(resumed(first, lines)),
    },
  };
}

async function* resumed(first: string, others: AsyncIterable<string>): AsyncGenerator<string> {
  yield first;
  yield* others;
}

async function* exported(
  ports: QueryPorts,
  { workspace, caller }: Visit,
  { selection, asked }: WorklistQuery,
  settings: RuleSettings,
): AsyncGenerator<string, undefined> {
  const { eventLog, readModels } = ports;
  let record: typeof recordAccess | typeof recordFurtherAccess = recordAccess;
  let header = csvLine(columns);
  for await (const entries of wholeWorklist(readModels, workspace, selection)) {
    for (const access of worklistAccesses(entries, { ...asked, format: 'csv' }, 'readiness.export')) {
      await record(eventLog, caller, access);
      record = recordFurtherAccess;
    }
    const { names, accesses } = await readNames(ports, workspace, namedRecords(entries));
    if (names === undefined) throw unavailable('list');
    for (const access of accesses)
      await recordFurtherAccess(eventLog, caller, { ...access, action: 'readiness.export' });
    yield `${header}${entries.flatMap((entry) => linesOf(entry, names, settings)).join('')}`;
    header = '';
  }
}

function linesOf(entry: WorklistEntry, { nameOf }: RecordNames, settings: RuleSettings): string[] {
  const { encounter_id, state, date_of_service, patient_id, payer_id, facility_id, provider_id } = entry;
  const named = (kind: string, id: string | undefined) => (id === undefined ? undefined : nameOf(kind, id));
  const own = {
    patient_name: named('patient', patient_id),
    payer_name: named('payer', payer_id),
    facility_name: named('facility', facility_id),
    provider_name: named('provider', provider_id),
    ...{ encounter_id, state, date_of_service, patient_id, payer_id, facility_id, provider_id },
    ...{ billed_at: entry.billed?.at, claim_id: entry.billed?.id, filing_last_day: entry.filing?.last_day },
  };
  const findings = entry.findings.map(({ rule, severity, kind, id, field }) => ({
    ...{ defect: defectText(rule, settings), rule, severity, record_kind: kind, record_id: id, field },
  }));
  return (findings.length === 0 ? [{}] : findings).map((finding) => {
    const line: Partial<Record<(typeof columns)[number], string | undefined>> = { ...own, ...finding };
    return csvLine(columns.map((column) => line[column]));
  });
}
