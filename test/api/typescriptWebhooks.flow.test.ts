import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { type ReceivedMessage, verifyWebhook } from '../../clients/typescript/src/index.ts';
import { eventually } from '../support/eventually.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { errorOf } from '../support/service.ts';
import { HookSuite, LONG_MS, payersOf, subjectOf } from '../support/webhooks.ts';

const secretOf = (byte: number) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`;
const [secret, other] = [secretOf(1), secretOf(2)];
const body = JSON.stringify({ type: 'chartledger.webhook.ping.v1', note: 'Zoë 🩺' });

/** A message as the reference implementation of Standard Webhooks signs it, `seconds` from now. */
function signed(by = [secret], seconds = 0): ReceivedMessage {
  const at = new Date(Date.now() + seconds * 1_000);
  const signatures = by.map((one) => new Webhook(one).sign('msg_1', at, body));
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': signatures.join(' '),
  };
  return { secret, headers, body };
}

const refused = async (message: ReceivedMessage) => {
  expect(await errorOf(verifyWebhook(message))).toMatchObject({
    code: 'invalid_signature',
    retryable: false,
  });
};

describe('a message', () => {
  test('that the reference implementation signed is taken, in every form in which it arrives', async () => {
    const message = signed();
    const parsed = JSON.parse(body);
    expect(await verifyWebhook(message)).toEqual(parsed);
    expect(await verifyWebhook({ ...message, body: new TextEncoder().encode(body) })).toEqual(parsed);
    const headers = new Headers(message.headers as Record<string, string>);
    expect(await verifyWebhook({ ...message, headers })).toEqual(parsed);
    const capital = [...headers].map(([name, value]) => [name.replace('webhook', 'Webhook'), value]);
    expect(await verifyWebhook({ ...message, headers: Object.fromEntries(capital) })).toEqual(parsed);
  });

  test('is taken during a rotation, by either secret', async () => {
    expect(await verifyWebhook(signed([other, secret]))).toEqual(JSON.parse(body));
    expect(await verifyWebhook({ ...signed([other]), secret: [secret, other] })).toEqual(JSON.parse(body));
  });

  test('of another secret, body, id or time is refused', async () => {
    const message = signed();
    const { headers } = message;
    await refused(signed([other]));
    await refused({ ...message, body: `${body} ` });
    for (const changed of [
      { 'webhook-id': 'msg_2' },
      { 'webhook-timestamp': `${Date.now()}`.slice(0, 10) + 1 },
    ])
      await refused({ ...message, headers: { ...headers, ...changed } });
  });

  test('whose body is already parsed is a mistake of the program, which the error explains', async () => {
    const parsed = JSON.parse(body);
    for (const wrong of [parsed, undefined, Object.values(parsed)])
      await expect(verifyWebhook({ ...signed(), body: wrong })).rejects.toThrow(
        new TypeError('body is parsed, and the signature covers its bytes: pass the raw body'),
      );
  });

  test('without a proper header is refused', async () => {
    const message = signed();
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature'])
      for (const value of [undefined, '', 'v1,', 'v1,!', 'v1a,AAAA', 'NaN'])
        if (name !== 'webhook-id' || !value)
          await refused({ ...message, headers: { ...message.headers, [name]: value } });
  });

  test('that is old, or from the future, is refused', async () => {
    await refused(signed([secret], -301));
    await refused(signed([secret], 302));
    expect(await verifyWebhook({ ...signed([secret], -301), toleranceSeconds: 600 })).toEqual(
      JSON.parse(body),
    );
    await refused({ ...signed([secret], -20), toleranceSeconds: 10 });
  });

  test('cannot be verified with what is no secret', async () => {
    for (const none of ['', 'whsec_', 'whsec_!'])
      await expect(verifyWebhook({ ...signed(), secret: none })).rejects.toThrow(TypeError);
  });
});

onEmbeddedEngines((start) => {
  const suite = new HookSuite(start);

  test(
    'messages that the service sends are taken',
    async () => {
      const { endpoint, secret: theirs } = await suite.open();
      const payers = payersOf(2);
      await suite.write(payers, 1);
      await eventually(() => expect(endpoint.accepted).toHaveLength(2), LONG_MS);
      const messages = await Promise.all(
        endpoint.accepted.map(({ headers, body }) =>
          // The clock of the instance that sends is the test's own.
          verifyWebhook({ secret: theirs, headers, body, toleranceSeconds: Number.MAX_SAFE_INTEGER }),
        ),
      );
      const subjects = messages.map((message) => ('subject' in message ? message.subject : 'ping'));
      expect(subjects.toSorted()).toEqual(payers.map(subjectOf).toSorted());
    },
    LONG_MS,
  );
});
