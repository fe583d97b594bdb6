import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { unavailable } from '../../src/platform/errors.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import type { Client } from '../support/client.ts';
import { keyed } from '../support/log.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentForm, documentsPath, pathOf, paths, samples } from '../support/samples.ts';
import {
  appendedBy,
  type Faults,
  sharedService,
  startFaultyApp,
  type TestService,
} from '../support/service.ts';

let service: TestService;
let app: (Client & { stop(): Promise<void> }) | undefined;
beforeAll(async () => {
  service = await sharedService();
});
afterEach(async () => {
  await app?.stop();
  app = undefined;
});
afterAll(() => service.stop());

async function withFaults(faults: Faults): Promise<Client> {
  app = await startFaultyApp(service, faults);
  return app;
}

const away = (what: string) => () => Promise.reject(unavailable(what));
const lineOf = ({ id }: { id: string }) => `clinic.payer-${id}: PayerUpserted`;

test('while the state store is away, a request with a key is 503 and writes nothing; others go on', async () => {
  const client = await withFaults({ stateStore: { swap: away('state store'), load: away('state store') } });
  const payer = samples.payer();
  const headers = keyed();
  const appended = await appendedBy(service, async () => {
    const answer = await client.post(paths.payer, payer, headers);
    expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    expect(answer.headers).toHaveProperty('retry-after');
    expect((await client.post(paths.payer, payer)).status).toBe(200);
    const repeat = await service.post(paths.payer, payer, headers);
    expect(repeat).toMatchObject({ status: 200, body: { version: 2 } });
    expect(repeat.headers['idempotent-replayed']).toBeUndefined();
  });
  expect(appended).toEqual([lineOf(payer), lineOf(payer)]);
});

test.each([
  ['was written', true],
  ['was not written', false],
])('after a 503 of the event log the repeat settles it: the event %s', async (_label, isWritten) => {
  const append: EventLog['append'] = async (...event) => {
    if (isWritten) await service.eventLog.append(...event);
    throw unavailable('event log');
  };
  const client = await withFaults({ eventLog: { append } });
  const payer = samples.payer();
  const headers = keyed();
  const appended = await appendedBy(service, async () => {
    const first = await client.post(paths.payer, payer, headers);
    expect(first).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    const reused = await service.post(paths.payer, { ...payer, name: phi('Cigna') }, headers);
    expect(reused).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } });
    const repeat = await service.post(paths.payer, payer, headers);
    expect(repeat).toMatchObject({ status: 200, headers: { etag: '"1"' }, body: { outcome: 'created' } });
    expect(repeat.headers['idempotent-replayed']).toBe(isWritten ? 'true' : undefined);
    const again = await service.post(paths.payer, payer, headers);
    expect(again).toMatchObject({ body: repeat.body, headers: { 'idempotent-replayed': 'true' } });
  });
  expect(appended).toEqual([lineOf(payer)]);
});

test('after a 503 of the event log that wrote a patch the repeat says what it came to', async () => {
  const append: EventLog['append'] = async (...event) => {
    await service.eventLog.append(...event);
    throw unavailable('event log');
  };
  const client = await withFaults({ eventLog: { append } });
  const payer = samples.payer();
  await service.post(paths.payer, payer);
  const path = pathOf('payer', payer.id);
  const headers = keyed();
  const appended = await appendedBy(service, async () => {
    expect((await client.patch(path, { city: 'Omaha' }, headers)).status).toBe(503);
    await service.patch(path, { city: 'Lincoln' });
    const repeat = await service.patch(path, { city: 'Omaha' }, headers);
    expect(repeat).toMatchObject({ status: 200, body: { version: 2, outcome: 'updated', warnings: [] } });
    expect(repeat.headers['idempotent-replayed']).toBe('true');
  });
  expect(appended).toEqual([lineOf(payer), lineOf(payer)]);
});

test('what is kept of a request says nothing of it', async () => {
  const encounter = await createEncounter(service);
  const [key, document_id] = [phi('key'), phi('document')];
  const payer = { ...samples.payer(), [phi('field')]: 'x' };
  const { status, body } = await service.post(paths.payer, payer, keyed(key));
  expect([status, body.warnings]).toEqual([
    200,
    [{ field: expect.any(String), message: expect.any(String) }],
  ]);
  const form = documentForm({ document_id });
  expect((await service.upload(documentsPath(encounter), form, keyed(`${key} 2`))).status).toBe(200);
  const { stateUrl } = service.config;
  const file = stateUrl.slice('sqlite:'.length);
  const bytes = Buffer.concat([readFileSync(file), readFileSync(`${file}-wal`)]);
  expect(bytes.includes('heldUntil')).toBe(true);
  const said = [key, document_id, encounter, payer.id, payer.name, body.warnings[0].field];
  expect(said.filter((text) => bytes.includes(text))).toEqual([]);
});

test('a write whose answer cannot be kept is answered all the same', async () => {
  let swaps = 0;
  const swap = () => {
    swaps += 1;
    return swaps === 1 ? Promise.resolve(true) : Promise.reject(unavailable('state store'));
  };
  const client = await withFaults({ stateStore: { swap } });
  const payer = samples.payer();
  const appended = await appendedBy(service, async () => {
    const answer = await client.post(paths.payer, payer, keyed());
    expect(answer).toMatchObject({ status: 200, body: { version: 1 } });
  });
  expect([appended, swaps]).toEqual([[lineOf(payer)], 2]);
});
