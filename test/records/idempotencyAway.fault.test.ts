import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { expectFirst, expectReplay, keyed } from '../support/log.ts';
import { paths, samples } from '../support/samples.ts';
import { withOwnServers } from '../support/servers.ts';
import { appendedBy, startTestService, type TestService } from '../support/service.ts';

const LONG_MS = 120_000;

withOwnServers('idempotency keys without MongoDB', (servers) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService(await servers.start());
  }, LONG_MS);
  afterAll(async () => {
    await service.stop();
    await servers.remove();
  });

  test(
    'requests with a key are 503 and write nothing; others go on, and all do once it is back',
    async () => {
      const [payer, other] = [samples.payer(), samples.payer()];
      const headers = keyed();
      const appended = await appendedBy(service, async () => {
        const first = expectFirst(await service.post(paths.payer, other, keyed('before')));
        servers.database.freeze();
        for (const key of [headers, keyed('before')]) {
          const away = await service.post(paths.payer, payer, key);
          expect(away).toMatchObject({ status: 503, body: { code: 'unavailable' } });
          expect(Number(away.headers['retry-after'])).toBeGreaterThan(0);
        }
        expectFirst(await service.post(paths.payer, other));
        servers.database.thaw();
        // Each request thread finds for itself that it is back.
        const soon = <T>(check: () => Promise<T>) => eventually(check, LONG_MS / 4);
        const stored = await soon(async () => expectFirst(await service.post(paths.payer, payer, headers)));
        await soon(async () => expectReplay(await service.post(paths.payer, payer, headers), stored));
        await soon(async () => expectReplay(await service.post(paths.payer, other, keyed('before')), first));
      });
      const lines = [other, other, payer].map(({ id }) => `clinic.payer-${id}: PayerUpserted`);
      expect(appended).toEqual(lines);
    },
    LONG_MS,
  );
});
