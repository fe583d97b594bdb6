import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { statusOf } from '../../src/api/server/answer.ts';
import { type ErrorCode, unavailable } from '../../src/platform/errors.ts';
import { eventually } from '../support/eventually.ts';
import { notePhi, phi } from '../support/output.ts';
import { documentsPath, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import {
  appendedBy,
  newEvents,
  refusalsBy,
  sharedService,
  startFaultyApp,
  type TestService,
} from '../support/service.ts';

onEmbeddedEngines(() => {
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService();
  });
  afterAll(() => service.stop());

  /** What the audit trail tells of refused requests that appended nothing else. */
  const refused = (work: () => Promise<unknown>) =>
    refusalsBy(service, async () => expect(await appendedBy(service, work)).toEqual([]));

  const entry = (code: ErrorCode, method: string, route: string, more: object = {}) => ({
    action: 'request.refused',
    outcome: 'refused',
    code,
    status: statusOf[code],
    method,
    route,
    ...more,
  });

  describe('a refused request of a known key is in the audit trail', () => {
    const post = (path: string, body: string) =>
      service.send(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body });

    test('with the record that it was about', async () => {
      const { name: _name, ...payer } = samples.payer();
      const encounter = samples.encounter(phi('patient'));
      const refusals = await refused(async () => {
        expect((await service.post('/integration/payers', payer)).status).toBe(400);
        expect((await service.post('/integration/encounters', encounter)).status).toBe(400);
      });
      expect(refusals).toEqual([
        entry('validation_failed', 'POST', '/integration/payers', {
          fields: ['name'],
          faults: [{ field: 'name', code: 'required' }],
          kind: 'payer',
          record_id: payer.id,
        }),
        entry('reference_not_found', 'POST', '/integration/encounters', {
          fields: ['patient_id'],
          faults: [
            { field: 'patient_id', code: 'reference_not_found', kind: 'patient', id: encounter.patient_id },
          ],
          kind: 'encounter',
          record_id: encounter.id,
        }),
      ]);
    });

    test('without the id that was refused', async () => {
      const name = phi('Aetna');
      const long = phi('x'.repeat(256));
      const objects = new Map<object, string>([
        [{ id: long, name }, 'wrong_length'],
        [{ id: `${phi('id')}\n`, name }, 'invalid'],
        [{ id: 7, name }, 'wrong_type'],
        [{ id: '', name }, 'empty'],
        [{ name }, 'required'],
      ]);
      for (const body of [...objects.keys(), [phi('id')], null, phi('id')]) {
        const refusals = await refused(() => service.post('/integration/payers', body));
        const code = objects.get(Object(body));
        expect(refusals).toEqual([
          entry('validation_failed', 'POST', '/integration/payers', {
            ...(code && { fields: ['id'], faults: [{ field: 'id', code }] }),
            kind: 'payer',
          }),
        ]);
      }
    });

    test('also when its body was no JSON, or was not read', async () => {
      const payers = '/integration/payers';
      const refusals = await refused(async () => {
        await post(payers, `{"id": "${phi('payer')}"`);
        await service.send(payers, { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{}' });
        await service.post(payers, samples.payer(), { 'if-match': 'seven' });
      });
      expect(refusals).toEqual([
        entry('malformed_body', 'POST', payers, { kind: 'payer' }),
        entry('unsupported_media_type', 'POST', payers, { kind: 'payer' }),
        entry('validation_failed', 'POST', payers, {
          ...{ fields: ['If-Match'], faults: [{ field: 'If-Match', code: 'invalid' }] },
          kind: 'payer',
        }),
      ]);
    });

    test('when a version had moved on', async () => {
      const payer = samples.payer();
      await service.post('/integration/payers', payer);
      const refusals = await refused(() => service.post('/integration/payers', payer, { 'if-match': '"7"' }));
      expect(refusals).toEqual([
        entry('version_conflict', 'POST', '/integration/payers', { kind: 'payer', record_id: payer.id }),
      ]);
    });

    test('when what it asked for is not there', async () => {
      const [patient, encounter, document] = [phi('patient'), phi('encounter'), phi('document')];
      const refusals = await refused(async () => {
        await service.get(`/integration/patients/${patient}`);
        await service.get(`/integration/patients/${patient}/history`);
        await service.get('/integration/patients?limit=0');
        await service.get(documentsPath(encounter));
        await service.delete(documentsPath(encounter, document));
        await service.get(`${documentsPath(encounter, document)}/history`);
      });
      const aboutPatient = { kind: 'patient', record_id: patient };
      const aboutDocument = { kind: 'document', record_id: encounter, document_id: document };
      const documents = '/integration/encounters/:id/documents';
      expect(refusals).toEqual([
        entry('not_found', 'GET', '/integration/patients/:id', aboutPatient),
        entry('not_found', 'GET', '/integration/patients/:id/history', aboutPatient),
        entry('validation_failed', 'GET', '/integration/patients', {
          ...{ fields: ['limit'], faults: [{ field: 'limit', code: 'out_of_range' }] },
          kind: 'patient',
        }),
        entry('not_found', 'GET', documents, { kind: 'document', record_id: encounter }),
        entry('not_found', 'DELETE', `${documents}/:documentId`, aboutDocument),
        entry('not_found', 'GET', `${documents}/:documentId/history`, aboutDocument),
      ]);
    });

    test('when the key may not do that, or nothing any more', async () => {
      const { key, id } = await service.createKey('clinic', ['read']);
      const reader = service.as(key);
      const payer = samples.payer();
      const refusals = await refused(async () => {
        expect((await reader.post('/integration/payers', payer)).status).toBe(403);
        expect((await reader.get('/integration/webhooks')).status).toBe(403);
      });
      expect(refusals).toEqual([
        entry('permission_denied', 'POST', '/integration/payers', { kind: 'payer' }),
        entry('permission_denied', 'GET', '/integration/webhooks'),
      ]);
      for (const [state, status, code] of [
        ['deactivated', 403, 'key_deactivated'],
        ['deleted', 401, 'unauthorized'],
      ] as const) {
        await service.keys.setKeyState(id, state);
        // The process that answers hears of the change within a quarter of a second.
        const later = await refused(() =>
          eventually(async () => expect((await reader.get('/integration/payers')).status).toBe(status)),
        );
        expect(later.at(-1)).toEqual(entry(code, 'GET', '/integration/payers', { kind: 'payer' }));
      }
    });

    test('with who sent it, from where, under its request id', async () => {
      const { key, id } = await service.createKey('clinic', ['read']);
      let requestId: unknown;
      const events = await newEvents(service, async () => {
        const headers = { 'user-agent': 'emr-connector/4.2' };
        const answer = await service.as(key).get(`/integration/payers/${phi('payer')}`, headers);
        requestId = answer.headers['request-id'];
      });
      expect(events.map(({ metadata }) => metadata)).toEqual([
        {
          salt: expect.stringMatching(/^[0-9a-f]{32}$/),
          workspace: service.workspaceId('clinic'),
          principal: { type: 'api_key', id },
          requestId,
          clientIp: '127.0.0.1',
          userAgent: 'emr-connector/4.2',
          $correlationId: requestId,
          schemaVersion: 1,
        },
      ]);
    });
  });

  test('requests without a known key leave nothing in the audit trail', async () => {
    const unknown = `clk_${'A'.repeat(38)}`;
    notePhi(unknown);
    const events = await newEvents(service, async () => {
      for (const key of [undefined, unknown, 'clk_short']) {
        expect((await service.as(key).get('/integration/payers')).status).toBe(401);
      }
      expect((await service.get('/nowhere')).status).toBe(404);
      expect((await service.delete('/integration/payers')).status).toBe(405);
    });
    expect(events).toEqual([]);
  });

  test('a refused request is answered as it is when the log takes nothing', async () => {
    const append = () => Promise.reject(unavailable('event log'));
    const app = await startFaultyApp(service, { eventLog: { append } });
    const events = await newEvents(service, async () => {
      const answer = await app.post('/integration/payers', { id: phi('payer') });
      expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
    });
    expect(events).toEqual([]);
    await app.stop();
  });
});
