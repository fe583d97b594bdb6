import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { unavailable } from '../../src/platform/errors.ts';
import type { Client, TestResponse } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { storedFiles } from '../support/files.ts';
import { outputFolder, phi } from '../support/output.ts';
import { createEncounter, documentForm, documentLine, documentsPath, samples } from '../support/samples.ts';
import { appendedBy, sharedService, startFaultyApp, type TestService } from '../support/service.ts';

const away = (what: string) => () => Promise.reject(unavailable(what, new Error('ECONNREFUSED 10.0.0.7')));
const logIsAway = { append: away('event log'), readStream: away('event log'), head: away('event log') };
const modelsAreAway = {
  load: away('read model store'),
  page: away('read model store'),
  search: away('read model store'),
  checkpoint: away('read model store'),
};
const documentsAreAway = {
  put: away('document store'),
  get: away('document store'),
  check: away('document store'),
};

describe('a store that fails', () => {
  let service: TestService;
  let encounter: string;
  let app: (Client & { stop(): Promise<void> }) | undefined;
  beforeAll(async () => {
    service = await sharedService();
    encounter = await createEncounter(service);
  });
  afterEach(() => app?.stop());
  afterAll(() => service.stop());

  function expectUnavailable(answer: TestResponse) {
    expect(answer).toMatchObject({
      status: 503,
      body: { code: 'unavailable', error: expect.any(String), requestId: answer.headers['request-id'] },
    });
    expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(answer.text).not.toContain('ECONNREFUSED');
  }

  test('event log away: everything that needs it is 503, nothing is 500', async () => {
    const client = await startFaultyApp(service, { eventLog: logIsAway });
    app = client;
    const before = storedFiles(service.config);
    const appended = await appendedBy(service, async () => {
      for (const answer of await Promise.all([
        client.post('/integration/payers', samples.payer()),
        client.post('/integration/encounters', samples.encounter(phi('patient'))),
        client.get('/integration/payers'),
        client.get('/integration/payers/payer-1'),
        client.upload(documentsPath(phi('encounter')), documentForm()),
        client.get(documentsPath(encounter)),
        client.get(documentsPath(encounter, 'document-1')),
        client.delete(documentsPath(encounter, 'document-1')),
      ])) {
        expectUnavailable(answer);
      }
      expect((await client.post('/integration/payers', { id: phi('payer') })).status).toBe(400);
    });
    expect(appended).toEqual([]);
    await eventually(() => expect(storedFiles(service.config)).toEqual(before));
  });

  test('read models away: writes and single reads go on, lists are 503', async () => {
    const client = await startFaultyApp(service, { readModels: modelsAreAway });
    app = client;
    const payer = samples.payer();
    const patient = { ...samples.patient(), primary_insurance: { payer_id: payer.id } };
    const appended = await appendedBy(service, async () => {
      expect((await client.post('/integration/payers', payer)).status).toBe(200);
      expect((await client.post('/integration/patients', patient)).status).toBe(200);
    });
    expect(appended).toHaveLength(2);
    expect((await client.get(`/integration/payers/${payer.id}`)).status).toBe(200);
    expectUnavailable(await client.get('/integration/payers'));
    expectUnavailable(await client.post('/integration/search', { q: payer.id }));
    expectUnavailable(await client.get(documentsPath(encounter)));
  });

  test('what the rules find in an encounter is told without waiting for a store', async () => {
    const never = () => new Promise<never>(() => undefined);
    const client = await startFaultyApp(service, { eventLog: { readStream: never } });
    app = client;
    const patient = samples.patient();
    const appended = await appendedBy(service, async () => {
      expect((await client.post('/integration/patients', patient)).status).toBe(200);
      const completed = { ...samples.encounter(patient.id), is_completed: true };
      const { status, body } = await client.post('/integration/encounters', completed);
      expect(status).toBe(200);
      expect(body.warnings).toHaveLength(4);
    });
    expect(appended).toHaveLength(2);
  });

  test('document store away: uploads and downloads are 503, records go on', async () => {
    const id = phi('document');
    await service.upload(documentsPath(encounter), documentForm({ document_id: id }));
    const client = await startFaultyApp(service, { documentStore: documentsAreAway });
    app = client;
    const appended = await appendedBy(service, async () => {
      expectUnavailable(await client.upload(documentsPath(encounter), documentForm()));
      const large = documentForm({ content: Buffer.alloc(3_000_000, '%PDF-1.7\n') });
      expectUnavailable(await client.upload(documentsPath(encounter), large));
      expectUnavailable(await client.get(documentsPath(encounter, id)));
    });
    expect(appended).toEqual([]);
    expect((await client.post('/integration/payers', samples.payer())).status).toBe(200);
  });

  test('an upload whose event is in the log is a success, whatever the document store says then', async () => {
    const client = await startFaultyApp(service, { documentStore: { confirm: away('document store') } });
    app = client;
    const id = phi('document');
    const appended = await appendedBy(service, async () => {
      const uploaded = await client.upload(documentsPath(encounter), documentForm({ document_id: id }));
      expect(uploaded.status).toBe(200);
    });
    expect(appended).toEqual([documentLine(encounter, id)]);
    expect((await service.get(documentsPath(encounter, id))).status).toBe(200);
  });

  test('an error that nobody foresaw is 500 and shows nothing of itself, to the caller or in the log', async () => {
    const inside = phi('internal-detail');
    const broken = () => Promise.reject(new TypeError(`cannot read ${inside}`));
    const client = await startFaultyApp(service, { eventLog: { append: broken, readStream: broken } });
    app = client;
    const appended = await appendedBy(service, async () => {
      for (const answer of [
        await client.post('/integration/payers', samples.payer()),
        await client.get('/integration/payers/payer-1'),
      ]) {
        expect(answer).toMatchObject({ status: 500, body: { code: 'internal' } });
        expect(Object.keys(answer.body).sort()).toEqual(['code', 'error', 'requestId']);
        expect(answer.text).not.toContain(inside);
        expect(answer.text).not.toMatch(/TypeError|cannot read|\.ts/);
        const log = readFileSync(`${outputFolder}/logs/${process.pid}.log`, 'utf8');
        expect(log).toContain(answer.body.requestId);
        expect(log).toContain('TypeError');
        expect(log).not.toContain(inside);
      }
    });
    expect(appended).toEqual([]);
  });
});
