import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { storesOf } from '../support/cli.ts';
import { Client } from '../support/client.ts';
import { paths } from '../support/fieldValues.ts';
import { LaterClock } from '../support/laterClock.ts';
import { phi } from '../support/phi.ts';
import { samples } from '../support/samples.ts';
import { appendedBy, startTestService, type TestService } from '../support/service.ts';
import { node, ServiceProcess } from '../support/serviceProcess.ts';

/** Longer than a key is held by a process of which nothing is heard. */
const LONG_AFTER_MS = 15_000;

let service: TestService;
let later: Client & { stop(): Promise<void> };
let child: ServiceProcess;
let dying: Client;

beforeAll(async () => {
  service = await startTestService();
  later = await service.another({}, { clock: new LaterClock(LONG_AFTER_MS) });
});
afterAll(async () => {
  await later.stop();
  await service.stop();
});

/** A process on the same stores that dies between append and answer. */
beforeEach(async () => {
  const { config } = service;
  child = new ServiceProcess(
    { ...storesOf(config), DATA_DIR: config.dataDir, RATE_LIMIT_PER_MINUTE: '0', NODE_ENV: 'production' },
    { command: [node, 'test/support/dyingService.ts'] },
  );
  dying = new Client(await child.url(), service.key);
});
afterEach(() => child.end('SIGKILL'));

const keyed = () => ({ 'idempotency-key': phi('key') });

test('an upsert whose process died before it answered is answered as it would have been', async () => {
  const payer = { ...samples.payer(), contact_email: 'nobody' };
  const headers = { ...keyed(), 'if-none-match': '*' };
  const line = `clinic.payer-${payer.id}: PayerUpserted`;
  const appended = await appendedBy(service, async () => {
    await expect(dying.post(paths.payer, payer, headers)).rejects.toThrow();
    await child.exit();
    const early = await service.post(paths.payer, payer, headers);
    expect(early).toMatchObject({ status: 409, body: { code: 'idempotency_key_in_use' } });
    const another = await later.post(paths.payer, { ...payer, name: phi('Cigna') }, headers);
    expect(another).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } });
    // Others go on writing: the answer is still that of the first version.
    await service.post(paths.payer, payer);
    for (const client of [later, service]) {
      const { status, body, headers: answered } = await client.post(paths.payer, payer, headers);
      expect({ status, body }).toMatchObject({
        status: 200,
        body: { version: 1, outcome: 'created', warnings: [{ field: 'contact_email' }] },
      });
      expect(answered).toMatchObject({ etag: '"1"', 'idempotent-replayed': 'true' });
    }
  });
  expect(appended).toEqual([line, line]);
});

test('of repeats at once, after the process died, one settles what happened', async () => {
  const payer = samples.payer();
  const headers = keyed();
  const appended = await appendedBy(service, async () => {
    await expect(dying.post(paths.payer, payer, headers)).rejects.toThrow();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => later.post(paths.payer, payer, headers)),
    );
    const stored = answers.filter(({ status }) => status === 200);
    expect(stored.length).toBeGreaterThan(0);
    for (const { headers } of stored) expect(headers['idempotent-replayed']).toBe('true');
    for (const { status } of answers) expect([200, 409]).toContain(status);
  });
  expect(appended).toEqual([`clinic.payer-${payer.id}: PayerUpserted`]);
});
