import { afterAll, beforeAll, expect, test } from 'vitest';
import { unavailable } from '../../src/platform/errors.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import { runCli, storesOf } from '../support/cli.ts';
import type { Client } from '../support/client.ts';
import { keyed } from '../support/log.ts';
import { expectDocumented, fetchDocument, type OpenApi } from '../support/openapi.ts';
import { pathOf, paths, samples } from '../support/samples.ts';
import { onSharedService } from '../support/servers.ts';
import { appendedBy, startFaultyApp, type TestService } from '../support/service.ts';

onSharedService((start) => {
  let service: TestService;
  let document: OpenApi;
  /** Its appends are made, and not acknowledged. */
  let unanswered: Client & { stop(): Promise<void> };
  beforeAll(async () => {
    service = await start();
    document = await fetchDocument(service);
    const append: EventLog['append'] = async (stream, event, expected) => {
      const appended = await service.eventLog.append(stream, event, expected);
      if (event.type === 'PayerUpserted') throw unavailable('event log');
      return appended;
    };
    unanswered = await startFaultyApp(service, { eventLog: { append } });
  });
  afterAll(async () => {
    await unanswered.stop();
    await service.stop();
  });

  async function erase(kind: string, id: string): Promise<void> {
    const options = ['--workspace', service.workspaceId('clinic'), '--reason', 'Request 2026-117'];
    const env = { ...storesOf(service.config), DATA_DIR: service.config.dataDir };
    const { code, stderr } = await runCli(['records', 'erase', kind, id, ...options], { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  }

  /** Asserts that a write that was not acknowledged is gone when it is sent again, as the document says. */
  async function expectGone(
    operationId: string,
    send: (to: Client) => ReturnType<Client['send']>,
    eraseIt: () => Promise<void>,
  ) {
    expect((await send(unanswered)).status).toBe(503);
    await eraseIt();
    const repeat = await send(service);
    expect(repeat).toMatchObject({ status: 410, body: { code: 'gone', erased_at: expect.any(String) } });
    expectDocumented(document, operationId, repeat);
  }

  test('what was erased before its repeat came is not written again, and the answer says so', async () => {
    const [payer, changed] = [samples.payer(), samples.payer()];
    await service.post(paths.payer, changed);
    const appended = await appendedBy(service, async () => {
      const [upserting, patching] = [keyed(), keyed()];
      await expectGone(
        'upsertPayer',
        (to) => to.post(paths.payer, payer, upserting),
        () => erase('payer', payer.id),
      );
      await expectGone(
        'patchPayer',
        (to) => to.patch(pathOf('payer', changed.id), { city: 'Omaha' }, patching),
        () => erase('payer', changed.id),
      );
    });
    expect(appended).toEqual([payer, changed].map(({ id }) => `clinic.payer-${id}: RecordErased`));
  });
});
