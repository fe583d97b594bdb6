import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { catalog } from '../../src/domain/records/catalog.ts';
import { spawnCli, temporaryFolder } from '../support/cli.ts';
import type { TestResponse } from '../support/client.ts';
import { notePhi } from '../support/output.ts';
import { missingServer, startOnProduction } from '../support/servers.ts';
import { listAll, startTestService, type TestService } from '../support/service.ts';

const synthea = resolve(process.cwd(), '../shared/data/synthea');
/** One encounter of twelve is sent: that still has some of most patients, and fills several pages. */
const ONE_OF = 12;
const RECORDS = 1_183;
const LONG_MS = 400_000;
/** Records of each kind that are read one by one, too. */
const READ_ALONE = 100;
const AT_ONCE = 32;

const missing = existsSync(synthea) ? missingServer : 'the Synthea export is not beside the repository';
if (missing) process.stdout.write(`Skipped: the same answers of all engines: ${missing}.\n`);

/** What an answer says, apart from when. */
function lasting({ status, headers, body }: TestResponse) {
  const { created_at, updated_at, ...rest } = body;
  expect([created_at, updated_at]).toEqual([expect.any(String), expect.any(String)]);
  return { status, etag: headers.etag, ...rest };
}

(missing ? describe.skip : describe)(
  `the same import on all engines${missing ? ` (${missing})` : ''}`,
  () => {
    let services: TestService[];
    beforeAll(async () => {
      services = await Promise.all([startTestService(), startOnProduction()]);
    });
    afterAll(async () => {
      for (const service of services) await service.stop();
    });

    /** All items of a list, by id. */
    async function listed(service: TestService, plural: string): Promise<Map<string, unknown>> {
      const items = await listAll(service, plural, LONG_MS);
      return new Map(items.map(({ created_at: _, updated_at: __, ...item }) => [item.id, item]));
    }

    async function expectSame(path: string): Promise<void> {
      const [one, two] = await Promise.all(services.map((service) => service.get(path)));
      expect(one?.status).toBe(200);
      expect(lasting(two as TestResponse)).toEqual(lasting(one as TestResponse));
    }

    test(
      'the lists hold the same records, and a record reads the same',
      async () => {
        const patients: { Id: string }[] = parse(readFileSync(`${synthea}/patients.csv`), {
          bom: true,
          columns: true,
        });
        notePhi(...patients.map(({ Id }) => Id));
        const sample = temporaryFolder();
        cpSync(synthea, sample, { recursive: true });
        const encounters = readFileSync(`${synthea}/encounters.csv`, 'utf8').split('\n');
        const chosen = encounters.filter((_, line) => line === 0 || line % ONE_OF === 1);
        writeFileSync(`${sample}/encounters.csv`, chosen.join('\n'));
        for (const { url, key = '' } of services) {
          const args = ['import', sample, '--format', 'synthea', '--url', url];
          const result = await spawnCli(args, { cwd: temporaryFolder(), env: { CHARTLEDGER_API_KEY: key } });
          // A store that is busy may be away for a moment: the import waits, and says so.
          expect(result).toMatchObject({ code: 0, stderr: expect.stringMatching(/^(Waiting: .*\n)*$/) });
        }
        let compared = 0;
        for (const { plural } of catalog) {
          const [embedded, production] = await Promise.all(
            services.map((service) => listed(service, plural)),
          );
          expect(embedded?.size).toBeGreaterThan(0);
          expect(production).toEqual(embedded);
          const ids = [...(embedded?.keys() ?? [])];
          compared += ids.length;
          const alone = ids.slice(0, READ_ALONE);
          while (alone.length > 0) {
            const wave = alone.splice(0, AT_ONCE);
            await Promise.all(wave.map((id) => expectSame(`/integration/${plural}/${id}`)));
          }
        }
        expect(compared).toBe(RECORDS);
      },
      LONG_MS,
    );
  },
);
