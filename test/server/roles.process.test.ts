import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { hl7Message, pid } from '../integrations/hl7Messages.ts';
import { runCli, storesOf } from '../support/cli.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { ownAddress, RawSender, setSource } from '../support/messages.ts';
import { phi } from '../support/output.ts';
import { ServiceProcess } from '../support/processes.ts';
import {
  createEncounter,
  documentForm,
  documentLine,
  documentsPath,
  pdf,
  samples,
} from '../support/samples.ts';
import { onEmbeddedEngines, onEveryEngine } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

type Instance = Client & { stop(): Promise<void> };

onEmbeddedEngines((start) => {
  test.each(['none', 'api,webhook', 'API', 'api,,projector'])('ROLES=%s stops the start', async (roles) => {
    const { code, stdout, stderr } = await new ServiceProcess({ ROLES: roles }).exit();
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^Chartledger did not start\. Bad settings: ROLES[^\n]* must be a list of api, projector, webhooks, heads, warehouse, mllp\n$/,
    );
  });

  describe('one role', () => {
    let api: TestService;
    beforeAll(async () => {
      api = await start({ ROLES: 'api' });
    });
    afterAll(() => api.stop());

    test('api alone takes and reads records; lists are 503 until there is a projector', async () => {
      const payer = samples.payer();
      const appended = await appendedBy(api, async () => {
        expect((await api.post('/integration/payers', payer)).status).toBe(200);
        expect((await api.get(`/integration/payers/${payer.id}`)).body.version).toBe(1);
        // At once, without asking again as other tests do where a list lags.
        const refused = await api.send('/integration/payers');
        expect(refused).toMatchObject({ status: 503, body: { code: 'unavailable' } });
        expect(refused.headers['retry-after']).toBe('2');
        const projector = await api.another({ ROLES: 'projector' });
        await eventually(async () => {
          const { status, body } = await api.send('/integration/payers');
          expect({ status, ids: body.items?.map(({ id }: { id: string }) => id) }).toEqual({
            status: 200,
            ids: [payer.id],
          });
        });
        await projector.stop();
      });
      expect(appended).toEqual([`clinic.payer-${payer.id}: PayerUpserted`]);
    });

    test('projector alone answers for its health, and nothing else', async () => {
      const projector = await api.another({ ROLES: 'projector' });
      const appended = await appendedBy(api, async () => {
        expect(await projector.get('/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } });
        expect(await projector.get('/readyz')).toMatchObject({ status: 200, body: { status: 'ready' } });
        for (const answer of [
          await projector.post('/integration/payers', samples.payer()),
          await projector.get('/integration/payers'),
          await projector.upload(documentsPath('encounter'), documentForm()),
          await projector.get('/openapi/json'),
        ]) {
          expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
        }
      });
      expect(appended).toEqual([]);
      await projector.stop();
    });
  });

  test('mllp alone takes messages, and answers for its health', async () => {
    const api = await start({ ROLES: 'api,projector' });
    const from = ownAddress();
    await setSource(api, api.workspaceId('clinic'), { id: 'lab', mllp: { networks: [from] } });
    const mllp = await api.another({ ROLES: 'mllp', MLLP_PORT: '0' });
    const ready = { status: 'ready', roles: { mllp: 'ready' } };
    expect(await mllp.get('/readyz')).toMatchObject({ status: 200, body: ready });
    const appended = await appendedBy(api, async () => {
      const sender = await RawSender.claimed(mllp.mllpPorts[0] as number, { from });
      expect(await sender.send(hl7Message('ADT^A28', [pid]))).toEqual(['MSA', 'AA', 'C-1']);
      await mllp.stop();
      expect(await sender.closed()).toBe('');
    });
    expect(appended).toEqual(['clinic.patient-4711: PatientUpserted']);
    await api.stop();
  });
});

onEveryEngine((start) => {
  describe('two instances of each role', () => {
    let one: TestService;
    let two: Instance;
    let others: Instance[] = [];
    beforeAll(async () => {
      one = await start({ ROLES: 'api' });
      two = await one.another({ ROLES: 'api' });
      others = [two, await one.another({ ROLES: 'projector' }), await one.another({ ROLES: 'projector' })];
    });
    afterAll(async () => {
      for (const other of others) await other.stop();
      await one.stop();
    });

    const listedAt = async (client: Client, path: string): Promise<string[]> => {
      const { status, body } = await client.get(`${path}?limit=200`);
      expect(status).toBe(200);
      return body.items.map((item: { id?: string; document_id?: string }) => item.id ?? item.document_id);
    };

    test('a record sent to one is read, listed and referred to at the other at once', async () => {
      // The first list waits until one of the projectors has the lease.
      await eventually(() => listedAt(two, '/integration/payers'));
      for (const [writer, reader] of [
        [one, two],
        [two, one],
      ] as [Client, Client][]) {
        for (let n = 0; n < 10; n += 1) {
          const payer = samples.payer();
          expect((await writer.post('/integration/payers', payer)).status).toBe(200);
          expect(await reader.get(`/integration/payers/${payer.id}`)).toMatchObject({
            status: 200,
            body: { version: 1 },
          });
          expect(await listedAt(reader, '/integration/payers')).toContain(payer.id);
          const patient = { ...samples.patient(), primary_insurance: { payer_id: payer.id } };
          expect((await reader.post('/integration/patients', patient)).status).toBe(200);
          const again = await reader.post('/integration/payers', payer);
          expect(again.body).toMatchObject({ outcome: 'updated', version: 2 });
        }
      }
    });

    test('one record written at both at once has a version for each write', async () => {
      const payer = samples.payer();
      const appended = await appendedBy(one, async () => {
        const answers = await Promise.all(
          Array.from({ length: 40 }, (_, n) => (n % 2 ? one : two).post('/integration/payers', payer)),
        );
        const versions = answers.map(({ body }) => body.version).sort((a, b) => a - b);
        expect(versions).toEqual(Array.from({ length: 40 }, (_, n) => n + 1));
      });
      expect(appended).toHaveLength(40);
      for (const client of [one, two]) {
        expect((await client.get(`/integration/payers/${payer.id}`)).body.version).toBe(40);
      }
    });

    test('a document uploaded at one is read, listed, replaced and removed at the other', async () => {
      const encounter = await createEncounter(one);
      const document_id = phi('document');
      const path = documentsPath(encounter, document_id);
      const appended = await appendedBy(one, async () => {
        const form = documentForm({ document_id, content: pdf('first') });
        expect((await one.upload(documentsPath(encounter), form)).status).toBe(200);
        expect(await two.get(path)).toMatchObject({ status: 200, text: pdf('first').toString() });
        expect(await listedAt(two, documentsPath(encounter))).toEqual([document_id]);
        const second = documentForm({ document_id, content: pdf('second') });
        expect((await two.upload(documentsPath(encounter), second)).body.version).toBe(2);
        expect(await one.get(path)).toMatchObject({ status: 200, text: pdf('second').toString() });
        expect((await two.delete(path)).status).toBe(200);
        expect((await one.get(path)).status).toBe(404);
        expect((await one.delete(path)).status).toBe(404);
        expect(await listedAt(one, documentsPath(encounter))).toEqual([]);
      });
      const line = documentLine(encounter, document_id);
      expect(appended).toEqual([line, line, documentLine(encounter, document_id, 'DocumentRemoved')]);
    });

    test('a key that a command makes, deactivates, activates and deletes is so at both', async () => {
      const keys = (...args: string[]) => runCli(['keys', ...args], { env: storesOf(one.config) });
      const made = await keys('create', '--workspace', one.workspaceId('clinic'), '--json');
      const { id, key } = JSON.parse(made.stdout);
      const atBoth = (status: number) =>
        eventually(async () => {
          for (const client of [one, two]) {
            const { status: found } = await client.post('/integration/payers', {}, { 'x-api-key': key });
            expect(found).toBe(status);
          }
        });
      for (const [command, status] of [
        ['deactivate', 403],
        ['activate', 400],
        ['delete', 401],
      ] as const) {
        expect((await keys(command, id)).code).toBe(0);
        await atBoth(status);
      }
    });
  });

  describe('a rate limit', () => {
    let one: TestService;
    let two: Instance | undefined;
    afterEach(async () => {
      await two?.stop();
      await one.stop();
    });

    const embedded = process.env.TEST_PHASE !== 'production';
    const reason = 'the embedded engines count in each process’s memory';
    (embedded ? test.skip : test)(`is one for all instances${embedded ? ` (${reason})` : ''}`, async () => {
      one = await start({ ROLES: 'api', RATE_LIMIT_PER_MINUTE: '10' });
      two = await one.another({ ROLES: 'api' });
      const statuses: number[] = [];
      for (let n = 0; n < 12; n += 1) {
        statuses.push((await (n % 2 ? one : two).get('/integration/payers/none')).status);
      }
      expect(statuses).toEqual([...Array.from({ length: 10 }, () => 404), 429, 429]);
    });
  });
});
