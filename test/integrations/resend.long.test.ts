import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '../../src/domain/events/event.ts';
import { type MessagePorts, MessageStore } from '../../src/modules/integrations/messages/store.ts';
import { runInWorkspace } from '../support/cli.ts';
import { bundle, fhirEncounter, fhirPatient, freshId, putFhir, sendFhir } from '../support/fhir.ts';
import { closeMessageStores, openMessageStores } from '../support/messages.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, changesBy, type TestService } from '../support/service.ts';

import { hl7Message } from './hl7Messages.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  let stores: MessagePorts;
  beforeAll(async () => {
    service = await start();
    stores = await openMessageStores(service.config);
  });
  afterAll(async () => {
    await closeMessageStores(stores);
    await service.stop();
  });

  const cli = (...args: string[]) => runInWorkspace(service, ...args);
  const rejected = async () =>
    JSON.parse((await cli('messages', 'list', '--rejected', '--json')).stdout) as { id: string }[];
  const resend = async (...args: string[]) => {
    const { code, stdout } = await cli('messages', 'resend', '--json', ...args);
    return { code, messages: JSON.parse(stdout) };
  };
  /** An encounter of a patient who is not there yet, sent once a day of service: each is refused. */
  async function refusedEncounters(...days: string[]) {
    const patient = fhirPatient();
    const encounter = fhirEncounter({ reference: `Patient/${patient.id}` });
    const onDay = (day: string): JsonObject => ({ ...encounter, period: { start: `${day}T09:30:00Z` } });
    for (const day of days) expect((await putFhir(service, onDay(day))).status).toBe(400);
    const waiting = (await rejected()).slice(0, days.length).map(({ id }) => id);
    return { patient, encounter, onDay, waiting: waiting.toReversed() };
  }
  const read = async ({ id }: JsonObject) => (await service.get(`/integration/encounters/${id}`)).body;

  test('what was refused is taken in its order, once what it lacked is there', async () => {
    const { patient, encounter, waiting } = await refusedEncounters('2026-03-14', '2026-03-15');
    expect(await resend(...waiting)).toMatchObject({
      code: 1,
      messages: waiting.map((id) => ({ id, state: 'rejected', problems: [{ severity: 'error' }] })),
    });
    await putFhir(service, patient);
    let read: JsonObject[] = [];
    const events = await changesBy(service, async () => {
      read = await accessesBy(service, async () => {
        expect(await resend()).toMatchObject({
          code: 0,
          messages: waiting.map((id, place) => ({
            ...{ id, source: 'default', state: 'accepted' },
            about: [
              { kind: 'patient', id: patient.id, outcome: 'left_out' },
              { kind: 'encounter', id: encounter.id, version: place + 1 },
            ],
          })),
        });
      });
    });
    expect(read).toMatchObject(waiting.map((message) => ({ action: 'message.read', query: { message } })));
    expect(
      events.map(({ type, data, metadata: { source, principal } }) => [
        ...[type, data.date_of_service, principal.type, source],
      ]),
    ).toEqual([
      ['EncounterUpserted', '2026-03-14T09:30:00Z', 'operator', { id: 'default', message: waiting[0] }],
      ['EncounterUpserted', '2026-03-15T09:30:00Z', 'operator', { id: 'default', message: waiting[1] }],
    ]);
    expect(await rejected()).toEqual([]);
    expect(await changesBy(service, () => resend(...waiting))).toEqual([]);
    expect((await cli('messages', 'resend')).stdout).toContain('waits to be sent again');
  });

  test('what is newer than a message stays, unless that is forced', async () => {
    const sent = await refusedEncounters('2026-03-14', '2026-03-15');
    await putFhir(service, sent.patient);
    expect((await putFhir(service, sent.onDay('2026-03-16'))).status).toBe(201);
    const skipped = async () => {
      expect(await resend(...sent.waiting)).toMatchObject({
        code: 1,
        messages: sent.waiting.map((id) => ({ id, state: 'rejected', problems: [{ code: 'conflict' }] })),
      });
    };
    expect(await changesBy(service, skipped)).toEqual([]);
    // Forced, the second one, which came last, is refused nothing; the first one is older than that by then.
    const [first = '', second = ''] = sent.waiting;
    expect(await resend(second, '--force')).toMatchObject({ code: 0, messages: [{ state: 'accepted' }] });
    expect(await read(sent.encounter)).toMatchObject({
      version: 2,
      record: { date_of_service: '2026-03-15T09:30:00Z' },
    });
    expect(await changesBy(service, () => resend(first))).toEqual([]);
    expect(await changesBy(service, () => resend(first, '--force'))).toHaveLength(1);
  });

  test('a later message counts as newer that changed nothing, and so does a write of somebody else', async () => {
    const sent = await refusedEncounters('2026-03-14');
    await putFhir(service, sent.patient);
    expect((await putFhir(service, sent.onDay('2026-03-16'))).status).toBe(201);
    const late = await refusedLater(sent.encounter);
    expect((await putFhir(service, sent.onDay('2026-03-16'))).status).toBe(200);
    expect(await changesBy(service, () => resend(late))).toEqual([]);
    const other = await refusedLater(sent.encounter);
    const { version } = await read(sent.encounter);
    const changed = await service.send(`/integration/encounters/${sent.encounter.id}`, {
      ...{ method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' } },
      body: JSON.stringify({ status: 'seen' }),
    });
    expect([changed.status, changed.body.version]).toEqual([200, version + 1]);
    expect(await changesBy(service, () => resend(other))).toEqual([]);
  });

  /** A message of an encounter that names a facility which is not there. */
  async function refusedLater({ id, ...encounter }: JsonObject): Promise<string> {
    const location = [{ location: { reference: `Location/${freshId('nowhere')}` } }];
    expect((await putFhir(service, { ...encounter, id, location } as JsonObject)).status).toBe(400);
    return (await rejected())[0]?.id ?? '';
  }

  test('of a batch that was taken in part the rest is taken', async () => {
    const { patient, encounter } = await refusedEncounters();
    const other = fhirPatient();
    expect((await sendFhir(service, '/fhir', bundle('batch', other, encounter))).status).toBe(200);
    const id = (await rejected())[0]?.id ?? '';
    await putFhir(service, patient);
    const events = await changesBy(service, async () => {
      expect(await resend(id)).toMatchObject({
        code: 0,
        messages: [
          {
            state: 'accepted',
            about: expect.arrayContaining([
              { kind: 'patient', id: other.id, outcome: 'unchanged', version: 1 },
              { kind: 'encounter', id: encounter.id, outcome: 'created', version: 1 },
            ]),
          },
        ],
      });
    });
    expect(events.map(({ type }) => type)).toEqual(['EncounterUpserted']);
  });

  test('HL7 v2 is read as its source is configured now, and a message that was cut off is completed', async () => {
    const clinic = service.workspaceId('clinic');
    const id = freshId('patient');
    const bytes = [
      Buffer.from(
        hl7Message('ADT^A28', [['PID', { 3: `mpi-1^^^MPI~${id}^^^HOSP`, 5: 'Lopez^Ana', 7: '19840229' }]]),
      ),
    ];
    const store = new MessageStore(stores);
    const configure = (authority: string) =>
      cli('sources', 'set', 'lab', '--format', 'hl7v2', '--patient-authority', authority);
    const principal = { type: 'api_key', id: 'key_gone' } as const;
    const message = await store.receive(
      { workspace: clinic, principal, requestId: uuidv7() },
      {
        ...{ id: uuidv7(), source: 'lab', format: 'hl7v2', media_type: 'application/hl7-v2', bytes },
        ...{ retentionDays: 90, about: [] },
      },
    );
    expect(await resend('--source', 'lab')).toMatchObject({
      messages: [{ id: message.id, state: 'received' }],
    });
    await configure('MPI');
    expect((await resend('--source', 'lab')).messages[0].skipped).toContain('in progress');
    await configure('HOSP');
    const events = await changesBy(service, async () => {
      expect(await resend('--source', 'lab', '--force')).toMatchObject({
        ...{ code: 0, messages: [{ state: 'accepted' }] },
      });
    });
    expect(events.map(({ type, metadata }) => [type, metadata.source])).toEqual([
      ['PatientUpserted', { configuration: 2, id: 'lab', message: message.id }],
    ]);
    // A record that only the new configuration names leads to the message, too.
    expect((await store.load(clinic, message.id))?.about).toEqual([
      { kind: 'patient', id, outcome: 'created', version: 1 },
    ]);
    const told = [];
    for await (const one of store.about(`${clinic}.patient-${id}`)) told.push(one.id);
    expect(told).toEqual([message.id]);
    await cli('sources', 'delete', 'lab');
  });

  test('what is not there is said to be not there', async () => {
    expect(await cli('messages', 'resend', uuidv7())).toMatchObject({ code: 1, stdout: '' });
  });

  test('a document that is newer than its cancellation stays', async () => {
    const send = async (kind: string, ...segments: [string, Record<number, string>][]) => {
      const person: [string, Record<number, string>] = ['PID', { 3: 'P-9', 5: 'Lopez^Maria', 7: '19840229' }];
      const body = hl7Message(kind, [person, ...segments, ['TXA', { 2: 'DS', 12: 'DOC-9' }]], {
        10: uuidv7(),
      });
      const headers = { 'content-type': 'application/hl7-v2' };
      return (await service.send('/hl7/v2', { method: 'POST', body, headers })).text;
    };
    const bytes = Buffer.from('%PDF-1.4\n%%EOF\n').toString('base64');
    const visit: [string, Record<number, string>] = ['PV1', { 2: 'I', 19: 'V-9' }];
    await send('ADT^A28');
    expect(await send('MDM^T11', ['PV1', { 2: 'I', 50: 'V-9' }])).toContain('MSA|AE|');
    const [{ id = '' } = {}] = await rejected();
    expect(await send('MDM^T02', visit, ['OBX', { 2: 'ED', 5: `^^PDF^Base64^${bytes}` }])).toContain(
      'MSA|AA|',
    );
    await cli('sources', 'set', 'mdm', '--format', 'hl7v2', '--visit-from', 'PV1-50');
    const skipped = async () => {
      expect(await resend(id)).toMatchObject({
        code: 1,
        messages: [{ id, problems: [{ severity: 'error' }] }],
      });
    };
    expect(await changesBy(service, skipped)).toEqual([]);
    const removed = await changesBy(service, () => resend(id, '--force'));
    expect(removed.map(({ type }) => type)).toEqual(['DocumentRemoved']);
    await cli('sources', 'delete', 'mdm');
  });
});
