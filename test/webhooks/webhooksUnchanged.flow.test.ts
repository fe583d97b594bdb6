import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { changesBy } from '../support/service.ts';
import { type Hook, HookSuite, LONG_MS } from '../support/webhooks.ts';

const WAIT_MS = 20_000;

onEmbeddedEngines((start) => {
  const suite = new HookSuite(start);

  const send = async (payer: object) =>
    expect((await suite.client.post('/integration/payers', payer)).status).toBe(200);
  const taken = ({ endpoint }: Hook) =>
    endpoint.accepted
      .map(({ body }) => JSON.parse(body).data)
      .map(({ version, outcome }) => [version, outcome]);

  test(
    'a webhook may leave out what changed nothing, also of what waited for another try',
    async () => {
      const skipping = await suite.open({ unchanged: 'skip' });
      const sending = await suite.open({});
      const payer = samples.payer();
      for (const name of ['Aetna', 'Aetna', 'Cigna', 'Cigna', 'Humana']) await send({ ...payer, name });
      await eventually(
        () =>
          expect(taken(sending)).toEqual([
            [1, 'created'],
            [2, 'unchanged'],
            [3, 'updated'],
            [4, 'unchanged'],
            [5, 'updated'],
          ]),
        WAIT_MS,
      );
      const told = [
        [1, 'created'],
        [3, 'updated'],
        [5, 'updated'],
      ];
      await eventually(() => expect(taken(skipping)).toEqual(told), WAIT_MS);
      skipping.endpoint.answer = () => 500;
      for (const name of ['Centene', 'Centene', 'Molina']) await send({ ...payer, name });
      await eventually(() => expect(taken(sending)).toHaveLength(8), WAIT_MS);
      skipping.endpoint.answer = () => 200;
      await suite.client.post(`/integration/webhooks/${skipping.id}/retry`, {});
      await eventually(
        () => expect(taken(skipping)).toEqual([...told, [6, 'updated'], [8, 'updated']]),
        WAIT_MS,
      );
    },
    LONG_MS,
  );

  test('it is a setting like the others, and can be changed', async () => {
    const hook = await suite.open({});
    const path = `/integration/webhooks/${hook.id}`;
    expect((await suite.client.get(path)).body.unchanged).toBe('send');
    const update = (unchanged: string) =>
      suite.client.send(path, {
        method: 'PATCH',
        body: JSON.stringify({ unchanged }),
        headers: { 'content-type': 'application/json' },
      });
    const changes = await changesBy(suite.service, async () => {
      expect((await update('skip')).body.unchanged).toBe('skip');
      expect((await update('skip')).body.unchanged).toBe('skip');
      expect((await update('append')).status).toBe(400);
    });
    expect(changes.map(({ type, data }) => [type, data])).toEqual([
      ['WebhookUpdated', { webhook_id: hook.id, unchanged: 'skip' }],
    ]);
  });
});
