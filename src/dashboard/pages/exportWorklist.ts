import { Readable } from 'node:stream';
import { worklistAccesses } from '../../modules/audit/readinessAccesses.ts';
import { recordAccess, recordFurtherAccess } from '../../modules/audit/recordAccess.ts';
import { readProgress, requireSelectedRecords } from '../../modules/readiness/readWorklist.ts';
import { wholeWorklist } from '../../modules/readiness/wholeWorklist.ts';
import type { WorklistEntry } from '../../modules/readiness/worklistEntry.ts';
import type { QueryPorts } from '../../modules/records/queries/readRecord.ts';
import { csvLine } from '../../platform/csv.ts';
import { unavailable } from '../../platform/errors.ts';
import type { Reply, Visit } from '../components/route.ts';
import { type WorklistQuery, worklistQuery } from './worklistQuery.ts';

const columns = [
  'encounter_id',
  'state',
  'date_of_service',
  'patient_id',
  'payer_id',
  'facility_id',
  'provider_id',
  'rule',
  'severity',
  'record_kind',
  'record_id',
  'field',
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
  const { isCurrent } = await readProgress(ports, workspace);
  if (!isCurrent) throw unavailable('list');
  const today = new Date().toISOString().slice(0, 10);
  return {
    download: {
      type: 'text/csv; charset=utf-8',
      name: `readiness-${workspace}-${today}.csv`,
      body: Readable.from(exported(ports, visit, query)),
    },
  };
}

async function* exported(
  { eventLog, readModels }: QueryPorts,
  { workspace, caller }: Visit,
  { selection, asked }: WorklistQuery,
): AsyncGenerator<string> {
  let record: typeof recordAccess | typeof recordFurtherAccess = recordAccess;
  let header = csvLine(columns);
  for await (const entries of wholeWorklist(readModels, workspace, selection)) {
    for (const access of worklistAccesses(entries, { ...asked, format: 'csv' }, 'readiness.export')) {
      await record(eventLog, caller, access);
      record = recordFurtherAccess;
    }
    yield `${header}${entries.flatMap(linesOf).join('')}`;
    header = '';
  }
}

function linesOf(entry: WorklistEntry): string[] {
  const { encounter_id, state, date_of_service, patient_id, payer_id, facility_id, provider_id } = entry;
  const own = { encounter_id, state, date_of_service, patient_id, payer_id, facility_id, provider_id };
  const findings = entry.findings.map(({ rule, severity, kind, id, field }) => ({
    ...{ rule, severity, record_kind: kind, record_id: id, field },
  }));
  return (findings.length === 0 ? [{}] : findings).map((finding) => {
    const line: Partial<Record<(typeof columns)[number], string | undefined>> = { ...own, ...finding };
    return csvLine(columns.map((column) => line[column]));
  });
}
