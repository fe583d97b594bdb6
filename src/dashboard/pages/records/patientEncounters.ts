import { recordIdOf } from '../../../domain/events/streamNames.ts';
import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { patient } from '../../../domain/records/kinds/patient.ts';
import { readinessOf } from '../../../modules/readiness/readinessOf.ts';
import { listRecords } from '../../../modules/records/queries/listRecords.ts';
import { mergedPatients } from '../../../modules/records/queries/mergedPatients.ts';
import type { RecordView } from '../../../modules/records/queries/readRecord.ts';
import { html } from '../../components/html.ts';
import { filteredPath, recordPath } from '../../components/recordPaths.ts';
import { unlessBehind } from '../../components/recordQuery.ts';
import { namedFields, recordTable } from '../../components/recordTable.ts';
import type { Visit } from '../../components/route.ts';
import { leftOut, tryAgain } from '../../components/text.ts';
import type { PartPorts, RecordPart } from './recordParts.ts';
import { readReferredNames } from './referredNames.ts';

/** Maximum number of encounters on the page of a patient; pages of their own list all. */
const SHOWN = 10;
/** Maximum number of merged patients whose encounters are shown. */
const MOST_MERGED = 20;

/**
 * Resolves with the encounters of a patient, and of the patients merged into that one, whom it names; most recently
 * changed first.
 */
export async function patientEncounters(
  ports: PartPorts,
  visit: Visit,
  patientId: string,
): Promise<RecordPart> {
  const { workspace, req } = visit;
  const asked = { limit: SHOWN, sort: '-updated_at' } as const;
  const listOf = (value: string) =>
    unlessBehind(
      listRecords(ports, workspace, encounter, {
        ...{ ...asked, pageToken: undefined },
        filters: [{ field: 'patient_id', value }],
      }),
    );
  const own = await listOf(patientId);
  // By then the read model has every merge.
  const rows = own ? await mergedPatients(ports.readModels, workspace, patientId) : [];
  const ids = [patientId, ...rows.slice(0, MOST_MERGED).map((row) => recordIdOf(row.id))];
  const lists = [own, ...(await Promise.all(ids.slice(1).map(listOf)))].filter((list) => list !== undefined);
  if (lists.length < ids.length)
    return { body: html`<h2>Encounters</h2>${tryAgain(req.originalUrl)}`, accesses: [] };
  const records = newest(lists.flatMap(({ page }) => page.items));
  const fields = namedFields(encounter.kind, patient.kind);
  const { names, accesses } = await readReferredNames(ports, workspace, encounter, records, fields);
  const readiness = await unlessBehind(
    readinessOf(
      ports,
      workspace,
      records.map(({ id }) => id),
    ),
  );
  const read = lists.map(({ shown }, place) => ({
    ...({ action: 'record.list', kind: encounter.kind } as const),
    query: { ...asked, patient_id: ids[place] as string },
    ...(shown && { shown }),
  }));
  const pathOf = (id: string) => `/dashboard${filteredPath(workspace, encounter.kind, { patient_id: id })}`;
  const merged = ids
    .slice(1)
    .map(
      (id) =>
        html`<li><a href="/dashboard${recordPath(workspace, patient.kind, id)}">${id}</a>: <a href="${pathOf(id)}">all encounters</a></li>`,
    );
  return {
    body: html`<h2>Encounters</h2>
${recordTable({ workspace, entry: encounter, records, names, readiness, partOf: patient.kind })}
${leftOut(lists.flatMap(({ page }) => page.unreadable))}
<p><a href="${pathOf(patientId)}">All encounters</a></p>
${merged.length > 0 && html`<p>Patients merged into this one, with their encounters:</p><ul>${merged}</ul>`}`,
    accesses: [...read, ...accesses],
  };
}

function newest(records: readonly RecordView[]): RecordView[] {
  return records.toSorted((one, other) => other.updated_at.localeCompare(one.updated_at)).slice(0, SHOWN);
}
