import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { signMessage } from '../../src/modules/webhooks/messages.ts';

const secretOf = (byte: number) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`;
const [older, newer, foreign] = [secretOf(1), secretOf(2), secretOf(3)] as [string, string, string];
const message = { id: 'msg_1', body: JSON.stringify({ name: 'Zoë 🩺', note: 'a "quoted" line\n' }) };
const MINUTE = 60_000;

const accepts = (secret: string, headers: Record<string, string>, body = message.body) => {
  expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(message.body));
};
const refuses = (
  secret: string,
  headers: Record<string, string>,
  body = message.body,
  why = 'No matching',
) => {
  expect(() => new Webhook(secret).verify(body, headers)).toThrow(why);
};

describe('a signature', () => {
  test('is that of the known answer of Standard Webhooks', () => {
    const known = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}' };
    const headers = signMessage(known, ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'], 1_614_265_330_999);
    expect(headers).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
      'content-type': 'application/cloudevents+json',
      'user-agent': expect.stringMatching(/^Chartledger\/\d+\.\d+\.\d+$/),
    });
  });

  test.each([24, 32, 64])('of a key of %d bytes is the one that the package makes', (bytes) => {
    const secret = `whsec_${Buffer.from(Array.from({ length: bytes }, (_, at) => at * 3)).toString('base64')}`;
    const at = new Date('2026-11-21T09:30:00.250Z');
    const ours = signMessage(message, [secret], at.getTime())['webhook-signature'];
    expect(ours).toBe(new Webhook(secret).sign(message.id, at, message.body));
  });
});

describe('a receiver with the package', () => {
  test('accepts messages before, during and after a rotation of its secret', () => {
    const before = signMessage(message, [older], Date.now());
    const during = signMessage(message, [newer, older], Date.now());
    const after = signMessage(message, [newer], Date.now());
    expect(during['webhook-signature']?.split(' ')).toHaveLength(2);
    accepts(older, before);
    accepts(older, during);
    accepts(newer, during);
    accepts(newer, after);
    refuses(newer, before);
    refuses(older, after);
  });

  test('accepts a message within five minutes, and refuses older and later ones', () => {
    const at = (minutes: number) => signMessage(message, [older], Date.now() + minutes * MINUTE);
    accepts(older, at(-4));
    accepts(older, at(4));
    refuses(older, at(-6), message.body, 'too old');
    refuses(older, at(6), message.body, 'too new');
  });

  test('refuses whatever was changed, and the signature of another secret', () => {
    const headers = signMessage(message, [older], Date.now());
    refuses(older, headers, `${message.body} `);
    refuses(older, headers, message.body.replace('Zoë', 'Zoe'));
    refuses(older, { ...headers, 'webhook-id': 'msg_2' });
    refuses(older, { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 1) });
    refuses(older, signMessage(message, [foreign], Date.now()));
    refuses(older, signMessage(message, [], Date.now()), message.body, 'Missing required headers');
  });
});
