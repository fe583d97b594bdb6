import { expect } from 'vitest';
import type { Client, TestResponse } from './client.ts';
import { documentForm, documentsPath } from './documents.ts';
import { eventually } from './eventually.ts';
import { sendFhir } from './fhir.ts';
import { phi } from './phi.ts';
import { samples } from './samples.ts';

/** A projector that was just started lags behind on a busy machine. */
const SOON_MS = 120_000;

/** A patient that was sent with all that goes with one. */
export interface SentPatient {
  patientId: string;
  encounterId: string;
  documentId: string;
  /** What was sent, and must be found nowhere once it is erased. */
  values: string[];
}

/**
 * Sends a patient with an encounter that has a document and was billed, and the patient once more in a message of an EMR, the number of
 * the patient says whether in FHIR or in HL7 v2. The sources of both have to be configured.
 */
export async function sendWhole(client: Client, n: number): Promise<SentPatient> {
  const patient = { ...samples.patient(), address: phi('Street') };
  const encounter = { id: phi('encounter'), patient_id: patient.id };
  const [filename, claim_id, family] = [phi('scan'), phi('claim'), phi('Family')];
  const form = documentForm({
    filename: `${filename}.pdf`,
    content: Buffer.from(`%PDF-1.7 ${filename} %%EOF`),
  });
  const statuses = [
    await client.post('/integration/patients', patient),
    await sendMessage(client, n, patient.id, family),
    await client.post('/integration/encounters', encounter),
    await client.upload(documentsPath(encounter.id), form),
  ].map(({ status }) => status);
  expect(statuses).toEqual([200, 200, 200, 200]);
  // It needs read models that have come so far.
  await eventually(async () => {
    const path = `/integration/encounters/${encounter.id}/billed`;
    expect((await client.post(path, { claim_id })).status).toBe(200);
  }, SOON_MS);
  return {
    patientId: patient.id,
    encounterId: encounter.id,
    documentId: form.get('document_id') as string,
    values: [patient.first_name, patient.last_name, patient.address, filename, claim_id, family],
  };
}

function sendMessage(client: Client, n: number, id: string, family: string): Promise<TestResponse> {
  if (n % 2 === 0) {
    const name = [{ family, given: ['Ada'] }];
    const resource = { resourceType: 'Patient', id, name, birthDate: '1984-02-29' };
    return sendFhir(client, `/fhir/Patient/${id}`, resource, {}, 'PUT');
  }
  const segments = [
    'MSH|^~\\&|ADT1|ELMST|CHARTLEDGER|BILLING|20260314093015-0500||ADT^A28^ADT_A05|MSG00001|P|2.5.1',
    'EVN|A28|20260314093015-0500',
    `PID|1||${id}^^^ELMST^MR||${family}^Maria||19840229|F`,
    'PV1|1|N',
  ];
  const headers = { 'content-type': 'application/hl7-v2' };
  return client.send('/hl7/v2', { method: 'POST', headers, body: segments.join('\r') });
}
