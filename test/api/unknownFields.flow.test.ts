import { afterAll, beforeAll, expect, test } from 'vitest';
import { search } from '../support/client.ts';
import { fetchDocument, type OpenApi, operationsOf } from '../support/openapi.ts';
import { paths, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, refusalsBy, sharedService, type TestService } from '../support/service.ts';

/** Bodies that are records, whose other fields are named in `warnings`. */
const records = /^(?:upsert|patch)|^sendBatch$|Fhir|Messages/;

onEmbeddedEngines(() => {
  let service: TestService;
  let document: OpenApi;
  beforeAll(async () => {
    service = await sharedService();
    const { key } = await service.createKey('clinic', [
      'write',
      'read',
      'events',
      'webhooks',
      'audit',
      'settings',
    ]);
    service = Object.assign(service, { key });
    document = await fetchDocument(service);
  });
  afterAll(() => service.stop());

  /** The operations with a JSON body that is no record, and the fields that it can have. */
  const closedBodies = () =>
    operationsOf(document).flatMap(({ method, path, operation }) => {
      const json = operation.requestBody?.content['application/json'];
      if (json === undefined || records.test(operation.operationId)) return [];
      const name = json.schema.$ref?.replace('#/components/schemas/', '');
      const schema = name === undefined ? json.schema : document.components.schemas[name];
      const address = path.replace(/\{\w+\}/g, 'nobody');
      return [{ id: operation.operationId, method, address, fields: Object.keys(schema.properties) }];
    });

  test('every body that is no record refuses a field that it does not know, and names those that it does', async () => {
    const bodies = closedBodies();
    expect(bodies.map(({ id }) => id).sort()).toEqual([
      ...[
        'acknowledgeBillingChanges',
        'addPatientDisclosure',
        'answerReadinessCause',
        'answerReadinessFinding',
        'createWebhook',
        'decideReturn',
        'judgeAccess',
        'recordEncounterBilled',
        'recordImport',
        'replayWebhook',
        'reportClaimOutcome',
      ],
      ...[
        'rotateWebhookSecret',
        'search',
        'setDeidentification',
        'setPatientVip',
        'setPayerRule',
        'setPayerRules',
        'setReturns',
        'stateDisclosurePurpose',
        'updateWebhook',
      ],
    ]);
    const appended = await appendedBy(service, async () => {
      for (const { id, method, address, fields } of bodies) {
        const message = `is not a known field; the fields are ${fields.join(', ')}`;
        for (const name of ['nobody_knows', (fields[0] as string).toUpperCase()]) {
          const { status, body } = await service.send(address, {
            method: method.toUpperCase(),
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ [name]: 'secret value' }),
          });
          expect([id, status, body.code]).toEqual([id, 400, 'validation_failed']);
          expect(body.details).toContainEqual({ field: name, message });
          expect(JSON.stringify(body)).not.toContain('secret value');
        }
      }
    });
    expect(appended).toEqual([]);
  });

  test('a search with a misspelled filter finds nothing, and is in the audit trail without the name', async () => {
    for (const wrong of [{ kinds: ['payer'] }, { Kind: 'payer' }]) {
      const refusals = await refusalsBy(service, async () => {
        const { status, body } = await search(service, { q: 'lopez', ...wrong });
        expect([status, body.items, body.details?.length]).toEqual([400, undefined, 1]);
      });
      expect(refusals).toMatchObject([{ code: 'validation_failed', fields: ['unknown_field'] }]);
    }
  });

  test('a misspelled version does not bill another one', async () => {
    const patient = samples.patient();
    const encounter = { ...samples.encounter(patient.id), is_completed: true };
    await service.post(paths.patient, patient);
    await service.post(paths.encounter, encounter);
    const billed = `${paths.encounter}/${encounter.id}/billed`;
    const appended = await appendedBy(service, async () => {
      const refused = await service.post(billed, { claim_id: 'claim-1', versions: 2 });
      expect([refused.status, refused.body.details[0].field]).toEqual([400, 'versions']);
    });
    expect(appended).toEqual([]);
    expect((await service.post(billed, { claim_id: 'claim-1', version: 1 })).status).toBe(200);
  });

  test('many long names are cut, and not all repeated', async () => {
    const names = Array.from({ length: 50 }, (_, at) => `n${at}${'x'.repeat(120)}`);
    const appended = await appendedBy(service, async () => {
      const body = { q: 'lopez', ...Object.fromEntries(names.map((name) => [name, 1])) };
      const { status, body: answer } = await search(service, body);
      expect([status, answer.details.length]).toEqual([400, 20]);
      for (const { field } of answer.details) expect(field).toHaveLength(100);
    });
    expect(appended).toEqual([]);
  });
});
