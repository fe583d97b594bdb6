import { describe, expect, test } from 'vitest';
import { Client } from '../support/client.ts';
import { MonitoredService } from '../support/metrics.ts';
import { samples } from '../support/samples.ts';

const PAYERS = '/integration/payers';
/** More than any of the alerts needs. */
const MANY = 100;
const LONG_MS = 120_000;

const post = (client: Client, body: object = samples.payer()) => client.post(PAYERS, body);
const statuses = async (send: () => Promise<{ status: number }>) => {
  const answers = await Promise.all(Array.from({ length: MANY }, send));
  return new Set(answers.map(({ status }) => status));
};
const isTaken = async ({ client }: MonitoredService) => expect((await post(client)).status).toBe(200);

describe.concurrent('alerts tell', { timeout: LONG_MS }, () => {
  test('of an EMR with an old key, as the trail of the installation does, until it has its new one', async (context) => {
    const service = await MonitoredService.start(context);
    const alerts = ['ChartledgerKeysRefused'];
    await service.expectQuiet(alerts, () => isTaken(service));
    const old = new Client(service.client.url, 'clk_old');
    expect(await statuses(() => post(old))).toEqual(new Set([401]));
    await service.expectFiring(...alerts);
    // A stop records what was counted.
    await service.restart();
    const counted = / key\.unknown .* 127\.0\.0\.1 /;
    await service.look('ChartledgerKeysRefused', [{ code: 0, stdout: expect.stringMatching(counted) }]);
    await service.expectQuiet(alerts, () => isTaken(service));
  });

  test('of what EMRs send in vain, as the trail does, until they send it right', async (context) => {
    const service = await MonitoredService.start(context);
    const alerts = ['ChartledgerWritesRefused'];
    await service.expectQuiet(alerts, () => isTaken(service));
    expect(await statuses(() => post(service.client, { id: 'payer-1' }))).toEqual(new Set([400]));
    await service.expectFiring(...alerts);
    const refused = [{ code: 0, stdout: expect.stringMatching(/ request\.refused +refused /) }];
    await service.look('ChartledgerWritesRefused', refused, { clinic: 'default' });
    await service.expectQuiet(alerts, () => isTaken(service));
  });

  test('of a caller beyond the limit, until its key has one of its own', async (context) => {
    const service = await MonitoredService.start(context, { RATE_LIMIT_PER_MINUTE: '10' });
    const alerts = ['ChartledgerCallersLimited'];
    await service.expectQuiet(alerts, () => isTaken(service));
    expect(await statuses(() => post(service.client))).toContain(429);
    await service.expectFiring(...alerts);
    const listed = await service.cli('keys', 'list', '--workspace', 'default', '--json');
    const [{ id }] = JSON.parse(listed.stdout);
    await service.mend('ChartledgerCallersLimited', 'keys set', { 'key_…': id });
    await service.expectQuiet(alerts, async () =>
      expect(await statuses(() => post(service.client))).toEqual(new Set([200])),
    );
  });
});
