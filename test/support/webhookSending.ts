import type { RequestListener } from 'node:http';
import { expect, onTestFinished } from 'vitest';
import {
  type ResolveName,
  WebhookSender,
  type WebhookSenderOptions,
} from '../../src/modules/webhooks/sender.ts';
import { createEgressPolicy } from '../../src/modules/webhooks/settings.ts';

import { Receiver } from './receiver.ts';

/** The body of every message that is sent. */
export const BODY = '{"note":"Zoë"}';

/** What every attempt holds. */
export const times = { at: expect.stringMatching(/^\d{4}-.*Z$/), durationMs: expect.any(Number) };

export const noName: ResolveName = () => Promise.reject(new Error('no such name'));

const never = new AbortController().signal;

/** Sends a message to a URL; the networks in `open` are opened: loopback, unless said otherwise. */
export function senderWith({
  open = ['127.0.0.0/8'],
  ...options
}: { open?: string[] } & Omit<WebhookSenderOptions, 'addresses'> = {}) {
  const sender = new WebhookSender({
    addresses: createEgressPolicy(open),
    resolve: noName,
    timeoutMs: 10_000,
    ...options,
  });
  onTestFinished(() => sender.close());
  return (url: string, signal = never) => sender.send(url, { 'webhook-id': 'msg_1' }, BODY, signal);
}

/** A receiver for the length of the test. */
export async function listen(answer: RequestListener, options?: Parameters<typeof Receiver.listen>[1]) {
  const receiver = await Receiver.listen(answer, options);
  onTestFinished(() => receiver.close());
  return receiver;
}

export const ok: RequestListener = (_req, res) => void res.end('ok');
