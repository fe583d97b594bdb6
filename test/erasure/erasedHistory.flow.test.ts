import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, storesOf } from '../support/cli.ts';
import { expectDocumented } from '../support/openapi.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentForm, documentsPath, samples } from '../support/samples.ts';
import { onSharedService } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

const REASON = '=Request 2026-117';

onSharedService((start) => {
  let service: TestService;
  let encounter: string;
  const document = documentForm();
  const documentId = document.get('document_id') as string;
  beforeAll(async () => {
    service = await start();
    encounter = await createEncounter(service);
    expect((await service.upload(documentsPath(encounter), document)).status).toBe(200);
  });
  afterAll(() => service.stop());

  const cli = (...args: string[]) =>
    runCli([...args, '--workspace', service.workspaceId('clinic')], { env: storesOf(service.config) });

  test('histories say why all before was erased, and only there', async () => {
    const appended = await appendedBy(service, async () => {
      expect((await cli('records', 'erase', 'encounter', encounter, '--reason', REASON)).code).toBe(0);
    });
    expect(appended.map((line) => line.replace(/.*: /, ''))).toEqual(['RecordErased', 'DocumentErased']);
    await service.post('/integration/payers', { id: 'payer', name: 'Aetna' });
    const openapi = (await service.get('/openapi/json')).body;
    for (const [operationId, path, items] of [
      [
        'getEncounterHistory',
        `/integration/encounters/${encounter}`,
        [{ outcome: 'erased', reason: REASON }],
      ],
      [
        'getDocumentHistory',
        documentsPath(encounter, documentId),
        [{ type: 'DocumentErased', sha256: null, reason: REASON }],
      ],
      ['getPayerHistory', '/integration/payers/payer', [{ outcome: 'created' }]],
    ] as const) {
      const answer = await service.get(`${path}/history`);
      expectDocumented(openapi, operationId, answer);
      expect(answer.body.items).toMatchObject(items);
    }
    const { body } = await service.get('/integration/payers/payer/history');
    expect(body.items[0]).not.toHaveProperty('reason');
  });

  test('so does the command line, in every format', async () => {
    const ofDocument = ['document', documentId, '--encounter', encounter];
    for (const args of [['encounters', encounter], ofDocument]) {
      const table = await cli('records', 'history', ...args);
      expect(table.stdout).toMatch(new RegExp(`^2 .* erased .*\n +reason: "${REASON}"\n$`, 'm'));
      const json = await cli('records', 'history', ...args, '--format', 'json');
      expect(JSON.parse(json.stdout)).toMatchObject([{ version: 2, reason: REASON }]);
      const csv = await cli('records', 'history', ...args, '--format', 'csv');
      expect(parse(csv.stdout, { columns: true })).toMatchObject([{ version: '2', reason: `'${REASON}` }]);
    }
  });

  test('the request log then holds nothing of a patient but ids', async () => {
    const patient = { ...samples.patient(), last_name: phi('Lopez'), address: phi('Street') };
    expect((await service.post('/integration/patients', patient)).status).toBe(200);
    const visit = { id: phi('encounter'), patient_id: patient.id };
    expect((await service.post('/integration/encounters', visit)).status).toBe(200);
    const refused = async (path: string, body: object) => {
      const answer = await service.post(`/integration/${path}`, body);
      expect(answer.status).toBe(400);
      return answer.body.requestId as string;
    };
    const [birth, nickname, provider] = [phi('1 May 1970'), phi('nickname'), phi('nobody')];
    const ids = [
      await refused('patients', { ...patient, date_of_birth: birth, [nickname]: 'x' }),
      await refused('encounters', { ...visit, provider_id: provider }),
    ];
    const erasing = ['records', 'erase', 'patient', patient.id, '--with-encounters', '--reason', REASON];
    expect((await cli(...erasing)).code).toBe(0);
    const list = await service.get('/integration/requests?limit=100');
    const entries = await Promise.all(ids.map((id) => service.get(`/integration/requests/${id}`)));
    const values = [patient.last_name, patient.address, birth, nickname];
    for (const { status, text } of [list, ...entries]) {
      expect(status).toBe(200);
      for (const value of values) expect(text).not.toContain(value);
    }
    const bodies = entries.map(({ body }) => body);
    expect(bodies).toMatchObject([
      { record_id: patient.id, fields: ['date_of_birth'] },
      {
        record_id: visit.id,
        fields: ['provider_id'],
        faults: [{ code: 'reference_not_found', id: provider }],
      },
    ]);
    expect(list.body.items).toEqual(expect.arrayContaining(bodies));
  });
});
