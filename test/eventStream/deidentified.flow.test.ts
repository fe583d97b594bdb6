import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CloudEvent } from '../../src/modules/eventStream/cloudEvents.ts';
import { phi } from '../support/output.ts';
import { documentForm, documentLine, documentsPath, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  let key: string;
  beforeAll(async () => {
    service = await start();
    ({ key } = await service.createKey('clinic', ['events:deidentified']));
  });
  afterAll(() => service.stop());

  const ndjson = { accept: 'application/x-ndjson' };

  async function read(): Promise<string> {
    const { status, text } = await service.as(key).get('/events', ndjson);
    expect(status).toBe(200);
    return text;
  }

  const eventsIn = (text: string): CloudEvent[] =>
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));

  test('nothing of what was sent is read, and ids still join', async () => {
    const payer = samples.payer();
    const patient = {
      ...samples.patient(),
      phone: phi('+1 402'),
      city: phi('Omaha'),
      gender: 'female',
      state: 'NE',
      primary_insurance: { payer_id: payer.id, policy_number: phi('W123'), effective_date: '2026-02-03' },
    };
    const encounter = {
      ...samples.encounter(patient.id),
      status: phi('seen'),
      date_of_service: '2026-03-14',
    };
    const document_id = phi('document');
    const filename = `${phi('report')}.pdf`;
    const appended = await appendedBy(service, async () => {
      await service.post('/integration/payers', payer);
      await service.post('/integration/patients', patient);
      await service.post('/integration/encounters', encounter);
      await service.upload(documentsPath(encounter.id), documentForm({ document_id, filename }));
    });
    expect(appended).toEqual([
      `clinic.payer-${payer.id}: PayerUpserted`,
      `clinic.patient-${patient.id}: PatientUpserted`,
      `clinic.encounter-${encounter.id}: EncounterUpserted`,
      documentLine(encounter.id, document_id),
    ]);

    const text = await read();
    const { primary_insurance, ...flat } = patient;
    const sent = [payer, flat, primary_insurance, encounter, { document_id, filename }].flatMap(
      Object.values,
    );
    const secret = sent.filter((value) => value.length > 2 && value !== 'female');
    expect(secret.length).toBeGreaterThan(12);
    for (const value of [...secret, service.workspaceId('clinic')]) expect(text).not.toContain(value);

    const [ofPayer, ofPatient, ofEncounter, ofDocument] = eventsIn(text) as [
      CloudEvent,
      CloudEvent,
      CloudEvent,
      CloudEvent,
    ];
    const year = String(new Date().getUTCFullYear());
    expect(ofPatient).toMatchObject({
      type: 'chartledger.patient.upserted.v1',
      time: expect.stringMatching(/^\d{4}-01-01T00:00:00\.000Z$/),
      subject: `patient/${ofPatient.data.sent.id}`,
    });
    expect(ofPatient.data).toEqual({
      version: 1,
      sent: {
        id: ofEncounter.data.sent.patient_id,
        date_of_birth: '1984',
        gender: 'female',
        state: 'NE',
        primary_insurance: { payer_id: ofPayer.data.sent.id, effective_date: '2026' },
      },
      changed: expect.arrayContaining(['id', 'date_of_birth', 'gender', 'primary_insurance.payer_id']),
    });
    expect(ofPatient.data.changed).not.toContain('first_name');
    expect([year, String(Number(year) - 1)]).toContain(ofPatient.time.slice(0, 4));
    expect(ofEncounter.data.sent).toEqual({
      id: ofDocument.data.sent.encounter_id,
      patient_id: expect.any(String),
      date_of_service: '2026',
    });
    expect(ofDocument.data.sent).toEqual({
      encounter_id: expect.any(String),
      document_id: expect.any(String),
      category: 'lab_results',
      format: 'pdf',
    });
  });

  test('the time at which an event was recorded cannot be found by trying', async () => {
    const year = new Date().getUTCFullYear();
    const appended = await appendedBy(service, async () => {
      for (const from of [`${year}-03-14`, `${year}-01-01T00:00:01Z`, `${year}-01-01T00:00:00%2B01:00`]) {
        const { status, body } = await service.as(key).get(`/events?from=${from}`, ndjson);
        expect([from, status]).toEqual([from, 400]);
        expect(body.details).toEqual([
          { field: 'from', message: expect.stringContaining('the beginning of a year') },
        ]);
      }
      const { status, text } = await service.as(key).get(`/events?from=${year - 1}-01-01`, ndjson);
      expect(status).toBe(200);
      expect(text).toBe(await read());
    });
    expect(appended).toEqual([]);
  });

  test('a key for this view alone gets no other', async () => {
    const appended = await appendedBy(service, async () => {
      const { status, body } = await service.as(key).get('/events?view=full', ndjson);
      expect([status, body.code]).toEqual([403, 'permission_denied']);
    });
    expect(appended).toEqual([]);
  });

  test('the hashes are the same after a restart, and others under another key', async () => {
    const payer = samples.payer();
    const appended = await appendedBy(service, () => service.post('/integration/payers', payer));
    expect(appended).toEqual([`clinic.payer-${payer.id}: PayerUpserted`]);
    const before = await read();
    await service.restart();
    // The schemas are at the address that was asked, which is another one.
    const hashed = (text: string) => eventsIn(text).map(({ dataschema: _address, ...event }) => event);
    expect(hashed(await read())).toEqual(hashed(before));
    const other = await service.another({
      ROLES: 'api',
      DEIDENTIFICATION_KEY: randomBytes(32).toString('base64'),
      ALLOW_OTHER_KEYS: 'true',
    });
    try {
      const sending = await other.send('/events', { headers: { ...ndjson, 'x-api-key': key } });
      const [was, is] = [eventsIn(before), eventsIn(sending.text)];
      expect(is.map(({ sequence }) => sequence)).toEqual(was.map(({ sequence }) => sequence));
      const ids = [...was, ...is].map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
    } finally {
      await other.stop();
    }
  });
});
