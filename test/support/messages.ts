import type { MessagePorts } from '../../src/modules/integrations/messages/store.ts';
import type { Config } from '../../src/platform/config.ts';
import { openDocumentStore, openStateStore } from '../../src/server/openStorage.ts';

import type { Client } from './client.ts';
import { bundle, fhirEncounter, fhirPatient, freshId, referTo, sendFhir } from './fhir.ts';
import { phi } from './phi.ts';

/** The stores in which a service keeps messages, to be closed by `closeMessageStores`. */
export async function openMessageStores({ stateUrl, documentsUrl }: Config): Promise<MessagePorts> {
  return { stateStore: await openStateStore(stateUrl), documentStore: await openDocumentStore(documentsUrl) };
}

export async function closeMessageStores({ stateStore, documentStore }: MessagePorts): Promise<void> {
  await Promise.all([stateStore.close(), documentStore.close()]);
}

/** Sends messages as EMRs do, one of which is refused, and gives the ids of those that were taken: a Bundle of FHIR, and an ADT of HL7 v2. */
export async function sendMessages(client: Client): Promise<string[]> {
  const patient = fhirPatient();
  await sendFhir(client, '/fhir', bundle('transaction', patient, fhirEncounter(referTo(patient))));
  await sendFhir(client, '/fhir/Patient', fhirPatient({ birthDate: 'soon' }));
  const id = freshId('hl7-patient');
  const segments = [
    'MSH|^~\\&|ADT1|ELMST|CHARTLEDGER|BILLING|20260314093015-0500||ADT^A28^ADT_A05|MSG00001|P|2.5.1',
    'EVN|A28|20260314093015-0500',
    `PID|1||${id}^^^ELMST^MR||${phi('Lopez')}^Maria||19840229|F|||12 Elm Street^Apt 3^Omaha^NE^68102^USA^H`,
    'PV1|1|N',
  ];
  const headers = { 'content-type': 'application/hl7-v2' };
  await client.send('/hl7/v2', { method: 'POST', headers, body: segments.join('\r') });
  return Promise.all([patient.id, id].map((one) => messageOf(client, String(one))));
}

/** The message that the first version of a patient comes from. */
async function messageOf(client: Client, id: string): Promise<string> {
  const { body } = await client.get(`/integration/patients/${id}/history`);
  return body.items.at(-1).source.message;
}
