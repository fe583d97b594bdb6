import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Caller } from '../../src/domain/events/newEvent.ts';
import { recordStream } from '../../src/domain/events/streams.ts';
import { catalogEntry } from '../../src/domain/records/catalog.ts';
import type { ErasurePorts } from '../../src/modules/erasure/finish.ts';
import { addHold } from '../../src/modules/erasure/holds.ts';
import { eraseExpired, expiryOf } from '../../src/modules/erasure/retention.ts';
import { openReadModels } from '../../src/server/openStorage.ts';
import { momentBetween } from '../support/erasure.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onSharedService } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

onSharedService((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
    await eventually(async () => expect((await service.get('/integration/payers')).status).toBe(200));
  });
  afterAll(() => service.stop());

  const caller = (label: string): Caller => ({
    workspace: service.workspaceId(label),
    principal: { type: 'operator', id: 'test' },
    requestId: crypto.randomUUID(),
  });

  /** Applies retention to all there is of a workspace, with `meanwhile` done once the stream was listed, and is about to be erased. */
  async function applyWith(label: string, stream: string, meanwhile: () => Promise<unknown>) {
    const before = (await momentBetween(service)).toISOString();
    let pending: typeof meanwhile | undefined = meanwhile;
    const eventLog = new Proxy(service.eventLog, {
      get(target, name) {
        const own = Reflect.get(target, name);
        if (typeof own !== 'function') return own;
        return async (...args: unknown[]) => {
          const now = name === 'readStream' && args[0] === stream ? pending : undefined;
          if (now) pending = undefined;
          await now?.();
          return own.apply(target, args);
        };
      },
    });
    const readModels = await openReadModels(service.config.readModelUrl);
    try {
      const ports = { eventLog, readModels } as unknown as ErasurePorts;
      const run = { limit: 10, onBatch: () => undefined };
      return await eraseExpired(ports, caller(label), expiryOf({ years: 6, before }), run);
    } finally {
      await readModels.close();
    }
  }

  /** A workspace of its own with one payer. */
  async function createPayer(label: string) {
    const client = service.as((await service.createKey(label)).key);
    const payer = samples.payer();
    const send = async (more: object = {}) =>
      expect((await client.post('/integration/payers', { ...payer, ...more })).status).toBe(200);
    await send();
    const stream = recordStream(service.workspaceId(label), 'payer', payer.id);
    return { payer, send, stream };
  }

  test('what is of use again right before its tombstone is kept', async () => {
    const { payer, send, stream } = await createPayer('changed');
    const appended = await appendedBy(service, async () => {
      const tally = await applyWith('changed', stream, () => send({ name: phi('Anew') }));
      expect(tally).toMatchObject({ erased: 0, changed: 1 });
    });
    expect(appended).toEqual([`changed.payer-${encodeURIComponent(payer.id)}: PayerUpserted`]);
  });

  test('what comes under legal hold right before its tombstone is kept', async () => {
    const { payer, stream } = await createPayer('held');
    const entry = catalogEntry('payer');
    const appended = await appendedBy(service, async () => {
      const tally = await applyWith('held', stream, () =>
        addHold(service.eventLog, caller('held'), { entry, id: payer.id }, 'Case 2031-17'),
      );
      expect(tally).toMatchObject({ erased: 0, held: 1, changed: 0 });
    });
    expect(appended).toEqual(['held.holds: HoldAdded']);
  });
});
