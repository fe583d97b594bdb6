import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordStream } from '../../src/domain/events/streams.ts';
import { holdsMessage } from '../../src/modules/erasure/holdState.ts';
import {
  MAX_ABOUT,
  type Message,
  messageLinksTable,
  messagesTable,
} from '../../src/modules/integrations/messages/message.ts';
import { type MessagePorts, MessageStore } from '../../src/modules/integrations/messages/store.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';
import { runCli, runInWorkspace, storesOf } from '../support/cli.ts';
import {
  bundle,
  fhirCoverage,
  fhirEncounter,
  fhirPatient,
  freshId,
  putFhir,
  referTo,
  sendFhir,
} from '../support/fhir.ts';
import { closeMessageStores, openMessageStores } from '../support/messages.ts';
import { phi } from '../support/output.ts';
import { onEveryEngine } from '../support/servers.ts';
import { accessesBy, appendedBy, changesBy, startFaultyApp, type TestService } from '../support/service.ts';

import { hl7Message } from './hl7Messages.ts';

onEveryEngine((start) => {
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

  const messages = (...args: string[]) => runInWorkspace(service, 'messages', ...args);
  const hold = (...args: string[]) => runInWorkspace(service, 'holds', ...args);
  const listed = async (...args: string[]) => JSON.parse((await messages('list', '--json', ...args)).stdout);
  /** The message that the first version of a record comes from. */
  const messageOf = async (plural: string, id: unknown): Promise<string> => {
    const { body } = await service.get(`/integration/${plural}/${id}/history`);
    expect(body.items.at(-1).source.id).toBe('default');
    return body.items.at(-1).source.message;
  };
  const erase = (kind: string, id: unknown, ...more: string[]) =>
    runCli(
      [
        'records',
        'erase',
        kind,
        String(id),
        '--workspace',
        service.workspaceId('clinic'),
        '--reason',
        'Asked',
        ...more,
      ],
      { env: { ...storesOf(service.config), DATA_DIR: service.config.dataDir } },
    );

  test('a version leads to the message that it comes from, as it came, and back', async () => {
    const patient = fhirPatient();
    const encounter = fhirEncounter(referTo(patient));
    const sent = bundle('transaction', encounter, patient);
    const events = await changesBy(service, () => sendFhir(service, '/fhir', sent));
    const id = await messageOf('patients', patient.id);
    expect(events.map(({ type, metadata }) => [type, metadata.source])).toEqual([
      ['PatientUpserted', { id: 'default', message: id }],
      ['EncounterUpserted', { id: 'default', message: id }],
    ]);
    const read = await accessesBy(service, async () => {
      expect(await messages('show', id, '--raw')).toMatchObject({
        code: 0,
        stderr: '',
        stdout: JSON.stringify(sent),
      });
    });
    expect(read).toMatchObject([{ action: 'message.read', query: { message: id } }]);
    const [message] = await listed('--limit', '1');
    expect(message).toMatchObject({
      ...{ id, source: 'default', format: 'fhir', state: 'accepted', size: JSON.stringify(sent).length },
      sent_by: { type: 'api_key' },
    });
    expect(message.about).toEqual(
      expect.arrayContaining([
        { kind: 'patient', id: patient.id, outcome: 'created', version: 1 },
        { kind: 'encounter', id: encounter.id, outcome: 'created', version: 1 },
      ]),
    );
    const { stdout } = await messages('show', id);
    expect(stdout).toContain(`created: patient ${patient.id}, version 1`);
    expect(await messages('show', freshId('0'))).toMatchObject({ code: 1 });
    const rest = await service.post('/integration/payers', { id: freshId('payer'), name: 'Elm' });
    expect(rest.status).toBe(200);
  });

  test('what was not taken waits in a list, with what is wrong', async () => {
    const patient = fhirPatient({ birthDate: 'soon' });
    const [good, bad] = [fhirPatient(), fhirEncounter({ reference: 'Patient/nobody' })];
    const hl7 = [
      'MSH|^~\\&|A|B|C|D|20260314||ADT^A28^ADT_A05|7|P|2.5.1',
      'EVN|A28|20260314',
      `PID|1||${patient.id}^^^HOSP`,
      '',
    ].join('\r');
    const lines = await appendedBy(service, async () => {
      expect((await putFhir(service, patient)).status).toBe(400);
      expect((await sendFhir(service, '/fhir', bundle('batch', good, bad))).status).toBe(200);
      const answer = await service.send('/hl7/v2', {
        ...{ method: 'POST', headers: { 'content-type': 'application/hl7-v2' }, body: hl7 },
      });
      expect(answer.text).toContain('MSA|AE|7');
    });
    expect(lines.filter((line) => !line.startsWith('access: '))).toEqual([
      `clinic.patient-${good.id}: PatientUpserted`,
    ]);
    const waiting = await listed('--rejected', '--limit', '3');
    expect(waiting.map(({ format, state }: { format: string; state: string }) => [format, state])).toEqual([
      ['hl7v2', 'rejected'],
      ['fhir', 'partly'],
      ['fhir', 'rejected'],
    ]);
    expect(waiting[0].about).toEqual([{ kind: 'patient', id: patient.id, outcome: 'refused' }]);
    expect(waiting[2]).toMatchObject({
      about: [{ kind: 'patient', id: patient.id, outcome: 'refused' }],
      problems: [{ severity: 'error', code: 'required', at: 'Patient.birthDate' }],
    });
    expect(waiting[1].about).toEqual([
      { kind: 'patient', id: good.id, outcome: 'created', version: 1 },
      { kind: 'encounter', id: bad.id, outcome: 'refused' },
      { kind: 'patient', id: 'nobody', outcome: 'refused' },
    ]);
    expect(JSON.stringify(waiting.map(({ problems }: { problems: object }) => problems))).not.toContain(
      'soon',
    );
  });

  test('a file of many resources is one message, and leads to all of its records', async () => {
    const [one, other] = [fhirPatient(), fhirPatient()];
    const text = `${JSON.stringify(one)}\n{"broken\n${JSON.stringify(other)}\n`;
    const headers = { 'content-type': 'application/fhir+ndjson' };
    const sent = await service.send('/fhir/$import', { method: 'POST', headers, body: text });
    expect(sent.status).toBe(200);
    const id = await messageOf('patients', one.id);
    expect(await messageOf('patients', other.id)).toBe(id);
    const [message] = await listed('--rejected', '--limit', '1');
    expect(message).toMatchObject({ id, state: 'partly', records: 2, size: text.length });
    expect((await messages('show', id, '--raw')).stdout).toBe(text);
  });

  test('it goes with the records of which it tells, also where it changed nothing', async () => {
    const name = phi('Erasable');
    const div = `<div>${'x'.repeat(20_000)}</div>`;
    const text = { status: 'generated', div };
    const patient = fhirPatient({ name: [{ family: name, given: ['A'] }], text });
    const encounter = fhirEncounter(referTo(patient));
    const other = fhirPatient();
    const sent = bundle('transaction', encounter, patient);
    for (const one of [sent, sent, other])
      await sendFhir(service, one === other ? '/fhir/Patient' : '/fhir', one);
    const [kept, again, first] = await listed('--limit', '3');
    expect(again.about).toContainEqual({ kind: 'patient', id: patient.id, outcome: 'unchanged', version: 1 });
    // Large messages are files, small ones are rows.
    const files = [kept, again, first].map(({ id }) => stores.documentStore.has(id));
    expect(await Promise.all(files)).toEqual([false, true, true]);
    expect(await erase('patient', patient.id, '--with-encounters')).toMatchObject({ code: 0, stderr: '' });
    const left = await listed('--limit', '50');
    const ids = left.map(({ id }: { id: string }) => id);
    expect(ids).toContain(kept.id);
    for (const { id } of [again, first]) {
      expect(ids).not.toContain(id);
      expect(await messages('show', id, '--raw')).toMatchObject({ code: 1 });
      await expect(stores.documentStore.has(id)).resolves.toBe(false);
    }
    const raw = await messages('show', kept.id, '--raw');
    expect(JSON.parse(raw.stdout)).toEqual(other);
    expect(JSON.stringify(left)).not.toContain(String(patient.id));
  });

  test('it goes with a patient to whom it only refers, also where it was refused', async () => {
    const patient = fhirPatient();
    await putFhir(service, patient);
    const told = { reference: `Patient/${patient.id}` };
    const attachment = { contentType: 'application/pdf', data: Buffer.from('%PDF-1.7').toString('base64') };
    const refused = [
      fhirEncounter(told, { serviceProvider: { reference: 'Organization/nowhere' } }),
      fhirEncounter(told, { status: 'unheard-of' }),
      fhirCoverage(told, { identifier: { system: 'urn:oid:1.2.3', value: '9' } }),
      {
        ...{ resourceType: 'DocumentReference', id: freshId('document'), status: 'current', subject: told },
        ...{ content: [{ attachment }], context: { encounter: [{ reference: 'Encounter/nowhere' }] } },
      },
    ];
    for (const one of refused) expect((await putFhir(service, one)).status).toBeGreaterThanOrEqual(400);
    const ignored = { resourceType: 'Observation', id: freshId('observation'), subject: told };
    expect((await sendFhir(service, '/fhir', bundle('batch', ignored))).status).toBe(200);
    const idsOf = async (limit: number): Promise<string[]> =>
      (await listed('--limit', String(limit))).map(({ id }: { id: string }) => id);
    const sent = await idsOf(refused.length + 2);
    expect(await erase('patient', patient.id)).toMatchObject({ code: 0, stderr: '' });
    const left = await idsOf(50);
    expect(sent.filter((id) => left.includes(id))).toEqual([]);
    for (const id of sent) expect(await stores.documentStore.has(id)).toBe(false);
  });

  test('it goes with the patient of a message that could not be read', async () => {
    const id = freshId('unreadable');
    const other = `${id}-é`;
    await service.post('/integration/patients', {
      ...{ id, first_name: 'Ana', last_name: phi('Lopez'), date_of_birth: '1984-02-29' },
    });
    const message = (name: string, header: Record<number, string> = {}) =>
      Buffer.from(
        hl7Message('ADT^A28', [['PID', { 3: id, 5: `${name}^Ana`, 7: '19840229' }]], header),
        'latin1',
      );
    const unreadable = [
      message('Pérez'),
      message('Lopez', { 18: 'EBCDIC' }),
      message('Lopez', { 2: '^^^^' }),
      Buffer.concat([message('Lopez'), Buffer.from('\rNTE|1||a note\non two lines')]),
      Buffer.concat([message('Lopez'), Buffer.from(`\rNTE|1||${'x'.repeat(1024 * 1024)}`)]),
    ];
    const headers = { 'content-type': 'application/hl7-v2' };
    for (const body of unreadable) {
      const { text } = await service.send('/hl7/v2', { method: 'POST', headers, body });
      expect(text).toMatch(/MSA\|A[ER]/);
    }
    const sent: Message[] = await listed('--limit', String(unreadable.length));
    expect(sent.map(({ about }) => about)).toEqual(
      unreadable.map(() => [{ kind: 'patient', id, outcome: 'refused' }]),
    );
    const divided = Buffer.from(
      hl7Message('ADT^A28', [['PID', { 3: other }]]).concat('\rNTE|1||a note\non two lines'),
    );
    await service.send('/hl7/v2', { method: 'POST', headers, body: divided });
    expect((await listed('--limit', '1'))[0].about).toMatchObject([{ kind: 'patient', id: other }]);
    expect(await erase('patient', id)).toMatchObject({ code: 0, stderr: '' });
    for (const one of sent) expect(await stores.documentStore.has(one.id)).toBe(false);
  });

  test('one that arrives while a record that it concerns is erased is not taken, and taken when it is sent again', async () => {
    const [patient, other] = [fhirPatient(), fhirPatient()];
    await putFhir(service, patient);
    const sent = bundle('batch', patient, other);
    const store = new MessageStore(stores);
    const stream = recordStream(service.workspaceId('clinic'), 'patient', String(patient.id));
    let arrived: string | undefined;
    // As where a store has no transactions: links first, then the row.
    const write: StateStore['write'] = async (writes) => {
      const at = writes.findIndex((one) => one.table.name === messagesTable.name && 'save' in one);
      const row = writes[at];
      if (row === undefined || !('save' in row) || arrived !== undefined)
        return stores.stateStore.write(writes);
      arrived = row.save[0]?.id as string;
      await stores.stateStore.write(writes.slice(0, at));
      await store.eraseAbout(stream, 1);
      return stores.stateStore.write(writes.slice(at));
    };
    const app = await startFaultyApp(service, { stateStore: { write, isTransactional: false } });
    const refused = await appendedBy(service, async () => {
      const answer = await sendFhir(app, '/fhir', sent);
      expect([answer.status, answer.headers['retry-after']]).toEqual([503, '2']);
    });
    expect(refused).toEqual([]);
    expect(await stores.stateStore.load(messagesTable, [arrived as string])).toEqual([]);
    const links = await stores.stateStore.scan(messageLinksTable, { limit: 1000 });
    expect(links.filter(({ body }) => body.message === arrived)).toEqual([]);
    expect(await stores.documentStore.has(arrived as string)).toBe(false);
    const taken = await appendedBy(service, () => sendFhir(app, '/fhir', sent));
    expect(taken).toEqual([`clinic.patient-${other.id}: PatientUpserted`]);
    expect((await listed('--limit', '1'))[0].records).toBe(2);
    await app.stop();
  });

  test('it goes when it has expired, and no sooner', async () => {
    const patient = fhirPatient();
    await putFhir(service, patient);
    const id = await messageOf('patients', patient.id);
    const store = new MessageStore(stores);
    const signal = new AbortController().signal;
    const daysOn = (days: number) => Date.now() + days * 86_400_000;
    const isHeld = (message: Message) => holdsMessage({ ...stores, eventLog: service.eventLog }, message);
    await store.removeExpired(daysOn(89), isHeld, signal);
    expect(await messages('show', id)).toMatchObject({ code: 0, stderr: '' });
    expect(await hold('create', 'patient', String(patient.id), '--reason', 'Suit')).toMatchObject({
      code: 0,
      stderr: '',
    });
    await store.removeExpired(daysOn(91), isHeld, signal);
    expect((await listed()).map((message: Message) => message.id)).toEqual([id]);
    const [{ id: holdId }] = JSON.parse((await hold('list', '--json')).stdout);
    expect(await hold('release', holdId, '--reason', 'Settled')).toMatchObject({ code: 0, stderr: '' });
    await store.removeExpired(daysOn(91), isHeld, signal);
    expect(await listed()).toEqual([]);
    expect(await messageOf('patients', patient.id)).toBe(id);
  });

  test('a hold on one record keeps it, however many it is about', async () => {
    const patients = Array.from({ length: MAX_ABOUT + 1 }, () => fhirPatient());
    const body = patients.map((one) => JSON.stringify(one)).join('\n');
    const headers = { 'content-type': 'application/fhir+ndjson' };
    expect((await service.send('/fhir/$import', { method: 'POST', headers, body })).status).toBe(200);
    const [{ id }] = await listed('--limit', '1');
    const expire = () =>
      new MessageStore(stores).removeExpired(
        Date.now() + 91 * 86_400_000,
        (message) => holdsMessage({ ...stores, eventLog: service.eventLog }, message),
        new AbortController().signal,
      );
    const held = String(patients.at(-1)?.id);
    expect(await hold('create', 'patient', held, '--reason', 'Suit')).toMatchObject({ code: 0, stderr: '' });
    await expire();
    expect((await listed()).map((message: Message) => message.id)).toEqual([id]);
    const holds = JSON.parse((await hold('list', '--json')).stdout);
    expect(await hold('release', holds.at(-1).id, '--reason', 'Settled')).toMatchObject({
      code: 0,
      stderr: '',
    });
    await expire();
    expect(await listed()).toEqual([]);
  });
});
