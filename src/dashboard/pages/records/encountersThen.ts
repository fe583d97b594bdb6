import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { patient } from '../../../domain/records/kinds/patient.ts';
import { encountersAt } from '../../../modules/records/queries/encountersAt.ts';
import { html } from '../../components/html.ts';
import { unlessBehind } from '../../components/recordQuery.ts';
import { namedFields, recordTable } from '../../components/recordTable.ts';
import type { Visit } from '../../components/route.ts';
import { leftOut, tryAgain } from '../../components/text.ts';
import type { PartPorts, RecordPart } from './recordParts.ts';
import { readReferredNames } from './referredNames.ts';

/**
 * Resolves with the encounters of a patient as they were at an instant (ms since 1970 UTC), for the page of the
 * patient's state at that time.
 */
export async function encountersThen(
  ports: PartPorts,
  { workspace, req }: Visit,
  patientId: string,
  asOf: number,
): Promise<RecordPart> {
  const found = await unlessBehind(encountersAt(ports, workspace, patientId, asOf));
  if (found === undefined)
    return { body: html`<h2>Encounters at that time</h2>${tryAgain(req.originalUrl)}`, accesses: [] };
  const { items, isWhole, unreadable } = found;
  const fields = namedFields(encounter.kind, patient.kind);
  const { names, accesses } = await readReferredNames(ports, workspace, encounter, items, fields);
  const time = new Date(asOf).toISOString();
  const things = items.map(({ id }) => ({ kind: encounter.kind, record_id: id }));
  return {
    body: html`<h2>Encounters at that time</h2>
${recordTable({ workspace, entry: encounter, records: items, names, partOf: patient.kind, asOf: time })}
${leftOut(unreadable)}
${!isWhole && html`<p class="muted">Only the first 200 encounters that ever belonged to the patient were checked.</p>`}`,
    accesses: [
      {
        action: 'record.list',
        kind: encounter.kind,
        query: { patient_id: patientId, as_of: time },
        shown: { ranges: [], count: things.length, things },
      },
      ...accesses,
    ],
  };
}
