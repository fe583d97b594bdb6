import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildMessage, signMessage, type WebhookMessage } from '../../src/modules/webhooks/messages.ts';
import { WebhookSender } from '../../src/modules/webhooks/sender.ts';
import { createEgressPolicy } from '../../src/modules/webhooks/settings.ts';
import { eventually } from '../support/eventually.ts';
import { recordedEventOf } from '../support/log.ts';
import { freePort } from '../support/servers.ts';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const sender = new WebhookSender({ addresses: createEgressPolicy(['127.0.0.1/32']) });
const { signal } = new AbortController();
const event = recordedEventOf('payer', { id: 'payer-1', name: 'Aetna' });
const message = buildMessage(
  { id: 'wh_1', payload: 'reference' },
  event,
  { changed: ['name'], isFirst: true },
  undefined,
);
let receiver: ChildProcess;
let printed = '';
let url: string;

const send = ({ body }: WebhookMessage, headers: Record<string, string>) =>
  sender.send(url, headers, body, signal);

beforeAll(async () => {
  const port = await freePort();
  url = `http://127.0.0.1:${port}/`;
  receiver = spawn(resolve('node_modules/.bin/node'), ['examples/webhook-receiver.mjs'], {
    env: { ...process.env, WEBHOOK_SECRET: secret, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  receiver.stdout?.on('data', (chunk) => {
    printed += chunk;
  });
  const unsigned = () => send(message, {});
  await eventually(async () => expect(await unsigned()).toMatchObject({ status: 400 }));
});

afterAll(async () => {
  await sender.close();
  receiver.kill();
  await once(receiver, 'close');
});

test('the receiver of the documentation takes what was signed for it, and nothing else', async () => {
  const headers = signMessage(message, [secret], Date.now());
  expect(await send({ ...message, body: `${message.body} ` }, headers)).toMatchObject({ status: 400 });
  const old = signMessage(message, [secret], Date.now() - 600_000);
  expect(await send(message, old)).toMatchObject({ status: 400 });
  const foreign = signMessage(message, [secret.replace('B', 'C')], Date.now());
  expect(await send(message, foreign)).toMatchObject({ status: 400 });
  expect(await send(message, headers)).toMatchObject({ status: 204 });
  const line = `${message.id} chartledger.payer.upserted.v1 0000000000000042\n`;
  await eventually(() => expect(printed).toBe(line));
});
