import { expect, test } from 'vitest';
import type { Client, TestResponse } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { storedFiles } from '../support/files.ts';
import { expectReplay, isReplayed, keyed } from '../support/log.ts';
import { notePhi, phi } from '../support/output.ts';
import { DyingSuite } from '../support/processes.ts';
import {
  createEncounter,
  documentForm,
  documentLine,
  documentsPath,
  paths,
  samples,
} from '../support/samples.ts';
import { appendedBy, changesBy } from '../support/service.ts';
import { createWebhook, hookUrl, memberOf, patch, secretIn, webhooksPath } from '../support/webhooks.ts';

/** That a process is gone is known after some seconds without a sign of life. */
const LONG_MS = 60_000;

const suite = new DyingSuite();

/** Sends a request with which the process dies, and twice again; gives the answer. */
async function sendAgain(send: (client: Client) => Promise<TestResponse>): Promise<TestResponse> {
  await expect(send(suite.dying)).rejects.toThrow();
  const repeat = await send(suite.later);
  expect([repeat.status, repeat.body.error, isReplayed(repeat)]).toEqual([200, undefined, true]);
  expectReplay(await send(suite.present), repeat);
  return repeat;
}

test('an upsert is answered as it would have been, whatever was written since', async () => {
  const payer = { ...samples.payer(), contact_email: 'nobody' };
  const headers = { ...keyed(), 'if-none-match': '*' };
  const line = `clinic.payer-${payer.id}: PayerUpserted`;
  const appended = await appendedBy(suite.service, async () => {
    await expect(suite.dying.post(paths.payer, payer, headers)).rejects.toThrow();
    const early = await suite.present.post(paths.payer, payer, headers);
    expect(early).toMatchObject({ status: 409, body: { code: 'idempotency_key_in_use' } });
    const another = await suite.later.post(paths.payer, { ...payer, name: phi('Cigna') }, headers);
    expect(another).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } });
    await suite.service.post(paths.payer, payer);
    const repeat = await suite.later.post(paths.payer, payer, headers);
    expect(repeat).toMatchObject({
      status: 200,
      headers: { etag: '"1"' },
      body: { version: 1, outcome: 'created', warnings: [{ field: 'contact_email' }] },
    });
    expectReplay(await suite.present.post(paths.payer, payer, headers), repeat);
  });
  expect(appended).toEqual([line, line]);
});

test('of repeats at once one settles what happened', async () => {
  const payer = samples.payer();
  const headers = keyed();
  const appended = await appendedBy(suite.service, async () => {
    await expect(suite.dying.post(paths.payer, payer, headers)).rejects.toThrow();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => suite.later.post(paths.payer, payer, headers)),
    );
    const stored = answers.filter(({ status }) => status === 200);
    expect([stored.length > 0, stored.every(isReplayed)]).toEqual([true, true]);
    for (const { status } of answers) expect([200, 409]).toContain(status);
  });
  expect(appended).toEqual([`clinic.payer-${payer.id}: PayerUpserted`]);
});

test(
  'an upload is stored once, and so is its file',
  async () => {
    const encounter = await createEncounter(suite.service);
    const document_id = phi('document');
    const headers = { ...keyed(), 'if-none-match': '*' };
    const appended = await appendedBy(suite.service, async () => {
      const answer = await sendAgain((client) =>
        client.upload(documentsPath(encounter), documentForm({ document_id }), headers),
      );
      expect(answer).toMatchObject({ headers: { etag: '"1"' }, body: { document_id, version: 1 } });
    });
    expect(appended).toEqual([documentLine(encounter, document_id)]);
    await eventually(() => {
      const { objects, uploads } = storedFiles(suite.service.config);
      expect([objects.length, uploads.length]).toEqual([1, 0]);
    }, LONG_MS);
    expect((await suite.service.get(documentsPath(encounter, document_id))).status).toBe(200);
  },
  2 * LONG_MS,
);

test('a removal is answered, though there is no such document any more', async () => {
  const encounter = await createEncounter(suite.service);
  const document_id = phi('document');
  await suite.service.upload(documentsPath(encounter), documentForm({ document_id }));
  const headers = keyed();
  const appended = await appendedBy(suite.service, () =>
    sendAgain((client) => client.delete(documentsPath(encounter, document_id), headers)),
  );
  expect(appended).toEqual([documentLine(encounter, document_id, 'DocumentRemoved')]);
});

test('the secret of a webhook that was created, or got a new one, comes with the repeat', async () => {
  const secrets: string[] = [];
  const events = await changesBy(suite.service, async () => {
    const [url, headers] = [hookUrl(), keyed()];
    const { body } = await sendAgain((client) => client.post(webhooksPath, { url }, headers));
    expect(body).toMatchObject({ url, state: 'enabled' });
    await suite.revive();
    const rotating = keyed();
    const { body: rotated } = await sendAgain((client) =>
      client.post(`${memberOf(body)}/secret/rotate`, {}, rotating),
    );
    expect(rotated.id).toBe(body.id);
    secrets.push(body.secret, rotated.secret);
    notePhi(...secrets);
  });
  expect(events.map(({ type }) => type)).toEqual(['WebhookCreated', 'WebhookSecretRotated']);
  expect(await Promise.all(events.map((event) => secretIn(suite.service, event)))).toEqual(secrets);
});

test.each([
  [{ description: 'ours', state: 'disabled' }, ['WebhookUpdated', 'WebhookDisabled']],
  [{ state: 'disabled' }, ['WebhookDisabled']],
])('the change %j of a webhook is made once', async (change, types) => {
  const path = memberOf(await createWebhook(suite.later));
  const headers = keyed();
  const events = await changesBy(suite.service, async () => {
    const { body } = await sendAgain((client) => patch(client, path, change, headers));
    expect(body).toMatchObject(change);
  });
  expect(events.map(({ type }) => type)).toEqual(types);
});

test('a ping is sent once', async () => {
  const path = `${memberOf(await createWebhook(suite.later))}/ping`;
  const headers = keyed();
  const events = await changesBy(suite.service, () => sendAgain((client) => client.post(path, {}, headers)));
  expect(events.map(({ type }) => type)).toEqual(['WebhookPinged']);
});
