import { afterAll, beforeAll, expect, test } from 'vitest';
import { spawnCli, temporaryFolder } from '../support/cli.ts';
import { notePhi } from '../support/output.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import type { TestService } from '../support/service.ts';
import { exportOf, exportRows, isSyntheaThere } from '../support/synthea.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  test.skipIf(!isSyntheaThere)(
    'after an import and the same again, a patient has two versions, and a moment between them has the first',
    async () => {
      const [{ Id = '', SSN = '', FIRST = '', LAST = '' } = {}] = exportRows('patients.csv');
      notePhi(Id, SSN, FIRST, LAST);
      const folder = exportOf([Id]);
      const made = await service.keys.createKey(service.workspaceId('clinic'), 'Nightly import', ['write']);
      for (let turn = 0; turn < 2; turn++) {
        const args = ['import', folder, '--format', 'synthea', '--url', service.url, '--json'];
        const env = { CHARTLEDGER_API_KEY: made.key };
        expect((await spawnCli(args, { cwd: temporaryFolder(), env })).code).toBe(0);
      }
      const path = `/integration/patients/${Id}`;
      const { items, next_page_token } = (await service.get(`${path}/history`)).body;
      expect(next_page_token).toBeNull();
      const principal = { type: 'api_key', id: made.id, name: 'Nightly import' };
      const user_agent = expect.stringMatching(/^chartledger-import\//);
      expect(items).toMatchObject([
        { version: 2, outcome: 'unchanged', changes: [], principal, user_agent },
        { version: 1, outcome: 'created', principal, user_agent },
      ]);
      expect(items[1].changes).toContainEqual({ field: 'first_name', from: null, to: FIRST });
      const [second, first] = items.map(({ recorded_at }: { recorded_at: string }) => recorded_at);
      expect(second > first).toBe(true);
      const between = new Date((Date.parse(first) + Date.parse(second)) / 2).toISOString();
      const then = await service.get(`${path}?as_of=${between}`);
      expect(then.headers.etag).toBe('"1"');
      expect(then.body).toMatchObject({ version: 1, created_at: first, updated_at: first });
      const latest = (await service.get(path)).body;
      expect(latest).toMatchObject({ version: 2, created_at: first, updated_at: second });
      expect(then.body.record).toEqual(latest.record);
    },
    300_000,
  );
});
