import { expect, test } from 'vitest';
import { Forwarder } from '../../src/cli/commands/eventFollower.ts';
import type { Attempt } from '../../src/modules/webhooks/attempts.ts';
import type { WebhookSender } from '../../src/modules/webhooks/sender.ts';

const message = { id: 'msg_1', body: '{}' };
const url = 'http://localhost:4000/hooks';
const at = '2026-03-14T09:30:00.000Z';

/** A forwarder whose tries come to these, and then to the last of them again and again. */
function forwarding(...results: Partial<Attempt>[]) {
  const told: string[] = [];
  let tries = 0;
  const send = async (): Promise<Attempt> => {
    const result = results[Math.min(tries, results.length - 1)];
    tries += 1;
    return { at, durationMs: 1, ...result };
  };
  const end = new AbortController();
  const forwarder = new Forwarder({
    url,
    secret: 'whsec_AAAA',
    sender: { send } as unknown as WebhookSender,
    signal: end.signal,
    onAway: (error) => told.push(error),
    retries: { awayMs: 50, firstDelayMs: 1, maxDelayMs: 5, refusals: 3 },
  });
  return { forward: () => forwarder.forward(message), told, tries: () => tries, end };
}

test('a target that stays away ends it, after a bounded time, and is told of once', async () => {
  const { forward, told, tries } = forwarding({ error: 'connection' });
  await expect(forward()).rejects.toThrow(`${url} accepted nothing for 0 s (connection).`);
  expect(told).toEqual(['connection']);
  expect(tries()).toBeGreaterThan(2);
});

test('tries that were not answered are none of the three that may be refused', async () => {
  const { forward, tries } = forwarding(
    { error: 'connection' },
    { error: 'dns' },
    { status: 500 },
    { status: 204 },
  );
  expect(await forward()).toMatchObject({ attempt: { status: 204 }, tries: 2 });
  expect(tries()).toBe(4);
});

test.each([
  [{ status: 400 }],
  [{ status: 307, error: 'redirect' as const }],
  [{ error: 'timeout' as const }],
])('an answer of %o is a refusal', async (result) => {
  const { forward, tries } = forwarding(result);
  expect(await forward()).toMatchObject({ attempt: result, tries: 3 });
  expect(tries()).toBe(3);
});

test('an interruption ends the wait', async () => {
  const { forward, end } = forwarding({ error: 'connection' });
  const forwarded = forward();
  end.abort();
  await expect(forwarded).rejects.toThrow('aborted');
});
