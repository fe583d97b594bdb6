import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/domain/events/event.ts';
import type { DisclosedRange } from '../../src/domain/events/payloads.ts';
import { eventually } from '../support/eventually.ts';
import { EventReader } from '../support/log.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, readAll } from '../support/service.ts';
import { HookSuite, payersOf, webhooksPath } from '../support/webhooks.ts';

onEmbeddedEngines((start) => {
  const hooks = new HookSuite(start);

  /** Positions of the events of records in the test's workspace. */
  async function positions(): Promise<number[]> {
    const workspace = hooks.service.workspaceId(hooks.label);
    const events = await readAll(hooks.service.eventLog);
    return events
      .filter(({ stream, type }) => stream.startsWith(`${workspace}.`) && type.endsWith('Upserted'))
      .map(({ position }) => position);
  }

  const shownIn = (access: JsonObject | undefined) => access?.shown as unknown as DisclosedRange;

  test('a list tells which records it showed, by where they were created; an empty one shows none', async () => {
    const payers = payersOf(3);
    for (const payer of payers) await hooks.write([payer], 2);
    const [first, , second, , third] = await positions();
    const accesses = await accessesBy(hooks.service, async () => {
      const { body } = await hooks.client.get('/integration/payers?limit=2');
      await hooks.client.get(`/integration/payers?page_token=${body.next_page_token}`);
      await hooks.client.get('/integration/patients');
    });
    expect(accesses.map(shownIn)).toEqual([
      { ranges: [{ from: first, to: second }], count: 2 },
      { ranges: [{ from: third, to: third }], count: 1 },
      undefined,
    ]);
  });

  test('a stream tells what it sent: the first events before they go, the rest at its end, in ranges', async () => {
    await hooks.write(payersOf(2), 1);
    const accesses = await accessesBy(hooks.service, async () => {
      const reader = await EventReader.open(hooks.client);
      await reader.count(2);
      for (let round = 0; round < 10; round++) await hooks.write(payersOf(1), 1);
      await reader.count(12);
      reader.kill();
      await eventually(async () => {
        const sent = (await readAll(hooks.service.eventLog)).filter(
          ({ metadata, data }) =>
            metadata.workspace === hooks.service.workspaceId(hooks.label) && data.action === 'events.sent',
        );
        expect(sent).toHaveLength(2);
      });
    });
    const all = await positions();
    const sent = accesses.filter(({ action }) => action === 'events.sent').map(shownIn);
    // The first ones may come one by one.
    expect(sent).toHaveLength(2);
    expect(sent.reduce((sum, { count = 0 }) => sum + count, 0)).toBe(12);
    expect(sent[0]?.ranges[0]?.from).toBe(all[0]);
    for (const position of all) {
      const covering = sent.filter(({ ranges }) =>
        ranges.some(({ from, to }) => from <= position && position <= to),
      );
      expect(covering).toHaveLength(1);
    }
  });

  test('what webhooks are sent is recorded in ranges, not by message, and who reads their attempts', async () => {
    let id = '';
    const payers = payersOf(5);
    const accesses = await accessesBy(hooks.service, async () => {
      const hook = await hooks.open({ payload: 'full', kinds: ['payer'] });
      ({ id } = hook);
      await hooks.write(payers, 1);
      await eventually(() => expect(hook.endpoint.accepted.length).toBeGreaterThan(0));
      await hooks.write(payers, 9);
      await eventually(() => expect(hook.endpoint.accepted).toHaveLength(50));
      // They are kept some at a time.
      await eventually(async () => expect((await hooks.attempts(id)).length).toBeGreaterThan(0));
      // What is left is recorded when the delivery ends.
      await hooks.client.delete(`${webhooksPath}/${id}`);
      await eventually(async () => {
        const counts = (await readAll(hooks.service.eventLog))
          .filter(({ data }) => data.webhook_id === id && data.action === 'webhook.sent')
          .map(({ data }) => shownIn(data).count ?? 0);
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(50);
      });
    });
    const sent = accesses.filter(({ action }) => action === 'webhook.sent');
    expect(sent.length).toBeLessThanOrEqual(3);
    const types = ['PayerUpserted', 'RecordErased/payer'];
    for (const access of sent) {
      expect(access).toMatchObject({ webhook_id: id, shown: { event_types: types } });
      expect(shownIn(access).ranges.length).toBeLessThanOrEqual(20);
    }
    const ranges = sent.flatMap((access) => shownIn(access).ranges);
    for (const position of await positions()) {
      expect(ranges.some(({ from, to }) => from <= position && position <= to)).toBe(true);
    }
    expect(accesses).toContainEqual({
      action: 'webhook.attempts',
      webhook_id: id,
      query: { limit: 100 },
      shown: { ranges: expect.any(Array), count: expect.any(Number) },
    });
  });

  test('a webhook’s entry tells what its payload held', async () => {
    const payers = payersOf(1);
    for (const payload of ['reference', 'deidentified']) {
      const accesses = await accessesBy(hooks.service, async () => {
        const { id, endpoint } = await hooks.open({ payload });
        await hooks.write(payers, 1);
        await eventually(() => expect(endpoint.accepted.length).toBeGreaterThan(0));
        await eventually(async () => {
          const sent = (await readAll(hooks.service.eventLog)).filter(
            ({ data }) => data.webhook_id === id && data.action === 'webhook.sent',
          );
          expect(sent).toHaveLength(1);
        });
      });
      expect(accesses).toEqual([
        expect.objectContaining({
          action: 'webhook.sent',
          shown: expect.objectContaining({ view: payload }),
        }),
      ]);
    }
  });
});
