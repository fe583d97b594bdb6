import { afterAll, beforeAll, expect, test } from 'vitest';
import { openReadModels } from '../../src/server/openStorage.ts';
import { storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { allRows, rebuiltRows } from '../support/log.ts';
import { ServiceProcess } from '../support/processes.ts';
import { samples } from '../support/samples.ts';
import { withOwnServers } from '../support/servers.ts';
import { startTestService, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;

withOwnServers('a projector that is killed', (servers) => {
  let service: TestService;
  const running: ServiceProcess[] = [];
  beforeAll(async () => {
    service = await startTestService({ ...(await servers.start()), ROLES: 'api' });
  }, LONG_MS);
  afterAll(async () => {
    for (const projector of running) await projector.end('SIGKILL');
    await service.stop();
    await servers.remove();
  });

  async function startProjector(): Promise<ServiceProcess> {
    const env = { ...storesOf(service.config), DATA_DIR: temporaryFolder(), ROLES: 'projector' };
    const projector = new ServiceProcess(env);
    running.push(projector);
    await projector.url();
    return projector;
  }

  const listed = () =>
    eventually(async () => {
      const { status, body } = await service.get('/integration/payers?limit=200');
      expect(status).toBe(200);
      return body.items.map(({ id }: { id: string }) => id);
    }, LONG_MS);

  test(
    'another one takes over, and nothing is missing in the read models',
    async () => {
      const ids: string[] = [];
      const write = async () => {
        const payer = samples.payer();
        expect((await service.post('/integration/payers', payer)).status).toBe(200);
        ids.push(payer.id);
      };
      const leader = await startProjector();
      for (let n = 0; n < 20; n += 1) await write();
      expect(await listed()).toEqual(ids);
      await startProjector();
      const dying = leader.end('SIGKILL');
      for (let n = 0; n < 20; n += 1) await write();
      await dying;
      expect(await listed()).toEqual(ids);
      const readModels = await openReadModels(servers.database.url);
      const live = await allRows(service.eventLog, readModels);
      await readModels.close();
      expect(live).toEqual(await rebuiltRows(service.eventLog));
    },
    LONG_MS,
  );
});
