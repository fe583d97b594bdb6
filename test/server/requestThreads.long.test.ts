import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli, storesOf } from '../support/cli.ts';
import type { TestResponse } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { appendedBy, logLines, type TestService } from '../support/service.ts';

/** Each request has a connection of its own: that so many are all answered by one of three threads does not happen. */
const SPREAD = 20;
/** An erasure is complete when the read models have come so far. */
const ERASED_WITHIN_MS = 90_000;

const repeated = <Result>(send: (index: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: SPREAD }, (_, index) => send(index)));
const statusesOf = (answers: TestResponse[]) => [...new Set(answers.map(({ status }) => status))];

onEveryEngine((start) => {
  describe('threads that answer requests', () => {
    let service: TestService;
    beforeAll(async () => {
      service = await start({ REQUEST_THREADS: '3' });
    });
    afterAll(() => service.stop());

    test('see at once what another one acknowledged', async () => {
      const payer = samples.payer();
      const appended = await appendedBy(service, async () => {
        expect((await service.post('/integration/payers', payer)).status).toBe(200);
        const answers = await repeated(() =>
          service.post('/integration/patients', {
            ...samples.patient(),
            primary_insurance: { payer_id: payer.id },
          }),
        );
        expect(statusesOf(answers)).toEqual([200]);
      });
      expect(appended.map((line) => line.replace(/-.*: /, ': '))).toEqual([
        'clinic.payer: PayerUpserted',
        ...Array.from({ length: SPREAD }, () => 'clinic.patient: PatientUpserted'),
      ]);
      expect(statusesOf(await repeated(() => service.get(`/integration/payers/${payer.id}`)))).toEqual([200]);
      const lists = await repeated(() => service.get('/integration/payers?limit=1'));
      expect(lists.map(({ body }) => body.items[0].id)).toEqual(lists.map(() => payer.id));
    });

    test('write one version after the other', async () => {
      const payer = samples.payer();
      const answers = await repeated((index) =>
        service.post('/integration/payers', { ...payer, phone: `555-01${index + 10}` }),
      );
      const versions = answers.map(({ body }) => body.version as number).sort((a, b) => a - b);
      expect(versions).toEqual(Array.from({ length: SPREAD }, (_, index) => index + 1));
    });

    test('soon refuse what refers to an erased record', async () => {
      const payer = samples.payer();
      await service.post('/integration/payers', payer);
      const patient = { ...samples.patient(), primary_insurance: { payer_id: payer.id } };
      // Refused after its payer was looked for, so that nothing refers to that.
      const send = () => service.post('/integration/patients', patient, { 'if-match': '"7"' });
      expect(statusesOf(await repeated(send))).toEqual([412]);
      const args = ['records', 'erase', 'payer', payer.id, '--reason', 'asked for'];
      const erased = await runCli([...args, '--workspace', service.workspaceId('clinic')], {
        env: storesOf(service.config),
      });
      expect(erased).toMatchObject({ code: 0 });
      await eventually(async () => expect(statusesOf(await repeated(send))).toEqual([400]), ERASED_WITHIN_MS);
      expect(statusesOf(await repeated(() => service.get(`/integration/payers/${payer.id}`)))).toEqual([410]);
    });

    test('soon know of changes of keys', async () => {
      const { id, key } = await service.createKey('clinic');
      const read = () => service.as(key).get('/integration/payers/none');
      expect(statusesOf(await repeated(read))).toEqual([404]);
      await service.keys.setKeyState(id, 'deactivated');
      await eventually(async () => expect(statusesOf(await repeated(read))).toEqual([403]));
    });

    test('tell all how the process does', async () => {
      await eventually(async () => {
        const answers = await repeated(() => service.get('/readyz'));
        const roles = { api: 'ready', projector: 'ready', webhooks: 'ready' };
        for (const { body } of answers)
          expect(body).toMatchObject({ status: 'ready', roles, event_log: 'ok', degraded: [] });
      });
    });

    test('write one log, with a line for each request', async () => {
      const answers = await repeated(() => service.get('/integration/payers/none'));
      await eventually(() => {
        for (const { headers } of answers)
          expect(logLines(String(headers['request-id'])).map(({ msg }) => msg)).toEqual(['request']);
      });
    });
  });

  test('threads have one limit together, to the request', async () => {
    const limited = await start({ REQUEST_THREADS: '3', RATE_LIMIT_PER_MINUTE: '12', ROLES: 'api' });
    const answers = await repeated(() => limited.get('/integration/payers/none'));
    await limited.stop();
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(12);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(SPREAD - 12);
  });
});
