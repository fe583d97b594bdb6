import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { newEvent } from '../../../src/domain/events/newEvent.ts';
import { WEBHOOKS_STREAM } from '../../../src/domain/events/streams.ts';
import { KeyDirectory } from '../../../src/modules/auth/keyDirectory.ts';
import { KeyManager } from '../../../src/modules/auth/keyManager.ts';
import { encryptSecret, generateSecret } from '../../../src/modules/webhooks/secrets.ts';
import { MAX_WEBHOOKS } from '../../../src/modules/webhooks/settings.ts';
import { managedKeys } from '../../../src/server/keys.ts';
import { openEventLog } from '../../../src/server/openStorage.ts';
import type { Bench, Report, Scenario } from '../scenario.ts';
import type { Arrivals } from '../servers/receiver.ts';
import { type Chartledger, makeStores, type Stores, startChartledger } from '../support/chartledger.ts';
import { cpuMicroseconds, residentMegabytes } from '../support/processUsage.ts';
import { type ServerProcess, startServer } from '../support/serverProcess.ts';
import { spread } from '../support/statistics.ts';

const APPENDED_TOGETHER = 500;
const ARRIVE_WITHIN_MS = 120_000;
const ASK_EVERY_MS = 50;
/** A process counts as settled when it used less than this share of a core for two seconds. */
const SETTLED = 0.08;
const SETTLE_WITHIN_MS = 180_000;

interface Installation {
  stores: Stores;
  /** A key of each workspace: each has as many webhooks as it may have. */
  keys: string[];
}

/** Makes stores with so many webhooks, for each of which all events of its workspace are wanted. */
async function withWebhooks(bench: Bench, receiver: ServerProcess, count: number): Promise<Installation> {
  const stores = await makeStores(bench, { WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' });
  const eventLog = await openEventLog(stores.config.eventLogUrl);
  const directory = await KeyDirectory.open(eventLog);
  const manager = new KeyManager(directory, { principal: { type: 'operator', id: 'bench' } });
  const secretsKey = await managedKeys(stores.config).webhookSecrets.load();
  const keys: string[] = [];
  for (let made = 0; made < count; ) {
    const workspace = `rest_${keys.length}`;
    keys.push((await manager.createKey(workspace, 'Bench', ['write'])).key);
    const appends = Array.from({ length: Math.min(MAX_WEBHOOKS, count - made) }, () => {
      made += 1;
      const id = `wh_${String(made).padStart(16, '0')}`;
      const caller = {
        workspace,
        principal: { type: 'operator' as const, id: 'bench' },
        requestId: randomUUID(),
      };
      const event = newEvent(caller, 'WebhookCreated', {
        ...{ webhook_id: id, url: `${receiver.url}/messages`, description: null, kinds: null, types: null },
        ...{ payload: 'reference', unchanged: 'send', start_after: 0 },
        sealed_secret: encryptSecret(secretsKey, { workspace, id }, generateSecret()),
      });
      return { stream: WEBHOOKS_STREAM, event, expected: 'any' as const };
    });
    for (let from = 0; from < appends.length; from += APPENDED_TOGETHER)
      await eventLog.appendEach(appends.slice(from, from + APPENDED_TOGETHER));
  }
  directory.close();
  await eventLog.close();
  return { stores, keys };
}

/** Waits until a process has done what it does after its start. */
async function settled(pid: number): Promise<void> {
  const startedAt = performance.now();
  for (let share = 1; share > SETTLED; ) {
    if (performance.now() - startedAt > SETTLE_WITHIN_MS)
      throw new Error('the service does not come to rest');
    const before = cpuMicroseconds(pid);
    await sleep(2_000);
    share = (cpuMicroseconds(pid) - before) / 2e6;
  }
}

/** Measures the share of a core that a process takes, in percent. */
async function shareOfCore(pid: number, seconds: number): Promise<number> {
  const before = cpuMicroseconds(pid);
  await sleep(seconds * 1_000);
  return (cpuMicroseconds(pid) - before) / seconds / 1e4;
}

/** Writes one record in each workspace. */
async function writeAll(service: Chartledger, keys: readonly string[], id: string): Promise<void> {
  for (const key of keys) {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    const body = JSON.stringify({ id, name: 'Aetna' });
    const response = await fetch(`${service.url}/integration/payers`, { method: 'POST', headers, body });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  }
}

/** Resolves with the seconds until so many messages have arrived, counted from a moment on the monotonic clock. */
async function untilArrived(receiver: ServerProcess, messages: number, from: number): Promise<number> {
  for (let arrived = 0; arrived < messages; await sleep(ASK_EVERY_MS)) {
    if (performance.now() - from > ARRIVE_WITHIN_MS)
      throw new Error(`${arrived} of ${messages} messages arrived`);
    const { delays } = (await (await fetch(receiver.url)).json()) as Arrivals;
    arrived += delays.length;
  }
  return (performance.now() - from) / 1_000;
}

async function run(bench: Bench): Promise<Report> {
  const counts = bench.quick ? [0, 1, 100] : [0, 1, 100, 2_000, 10_000];
  const seconds = bench.quick ? 5 : 30;
  const receiver = await startServer(bench, {
    script: 'ops/bench/servers/receiver.ts',
    env: {},
    folder: bench.folder,
  });
  const shares = new Map<number, number>();
  const rows: string[][] = [];
  let memory = Number.NaN;
  const times: number[] = [];
  for (const count of counts) {
    bench.progress(`${count} webhooks`);
    const { stores, keys } = await withWebhooks(bench, receiver, count);
    const first = await startChartledger(bench, stores);
    await settled(first.pid);
    await first.stop();
    // What is at rest from the start on: the first start has opened the state of each webhook.
    const service = await startChartledger(bench, stores);
    await settled(service.pid);
    const share = await shareOfCore(service.pid, seconds);
    const { all: megabytes } = residentMegabytes(service.pid);
    if (count === 0) memory = megabytes;
    shares.set(count, share);
    const sentAt = performance.now();
    await writeAll(service, keys, 'now');
    const sent = await untilArrived(receiver, count, sentAt);
    await service.stop();
    const writer = await startChartledger(bench, {
      ...stores,
      env: { ...stores.env, ROLES: 'api,projector' },
    });
    await writeAll(writer, keys, 'later');
    await writer.stop();
    const startedAt = performance.now();
    const again = await startChartledger(bench, stores);
    const backlog = await untilArrived(receiver, count, startedAt);
    await again.stop();
    if (count === 2_000) times.push(sent, backlog);
    const above = (megabytes - memory).toFixed(0);
    rows.push([String(count), `${share.toFixed(1)} %`, above, sent.toFixed(1), backlog.toFixed(1)]);
  }
  await receiver.stop();
  const most = counts.at(-1) as number;
  return {
    figures: [
      {
        columns: [
          'webhooks',
          'of a core, at rest',
          'MB above none',
          's for a message to each',
          's for these from the start of the process, with a backlog',
        ],
        rows,
      },
    ],
    checks: [
      {
        what: `of a core that ${most} webhooks at rest take beyond what one takes`,
        measured: spread([(shares.get(most) as number) - (shares.get(1) as number)]),
        unit: '%',
        target: { atMost: 1 },
      },
      {
        what: 'of a core that the service takes without webhooks',
        measured: spread([shares.get(0) as number]),
        unit: '%',
        target: { atMost: 1 },
      },
      ...(times.length > 0
        ? [
            {
              what: '2,000 messages to 2,000 webhooks',
              measured: spread(times),
              unit: 's',
              target: { atMost: 5 },
            },
          ]
        : []),
    ],
  };
}

export const rest: Scenario = {
  name: 'rest',
  description:
    'What the service takes when nothing happens, with webhooks that have nothing to send: 100 in each workspace. Then one record ' +
    'is written in each workspace, while the service runs and again while it sends no messages.',
  run,
};
