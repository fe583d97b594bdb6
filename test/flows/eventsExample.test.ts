import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { temporaryFolder } from '../support/cli.ts';
import { onEveryEngine } from '../support/engines.ts';
import { eventually } from '../support/eventually.ts';
import { samples } from '../support/samples.ts';
import type { TestService } from '../support/service.ts';

const ENCOUNTERS = 30;
const KILLS = 5;
const LONG_MS = 60_000;

test('the README shows the consumer as it is', () => {
  expect(readFileSync('README.md', 'utf8')).toContain(readFileSync('examples/encounterTable.mjs', 'utf8'));
});

onEveryEngine((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  test(
    'the consumer in examples builds its table, however often it is killed',
    async () => {
      const { key } = await service.createKey('clinic', ['events']);
      const table = join(temporaryFolder(), 'encounters.db');
      const env = {
        PATH: process.env.PATH,
        CHARTLEDGER_URL: service.url,
        CHARTLEDGER_API_KEY: key,
        TABLE: table,
      };
      const consume = () =>
        spawn(resolve('node_modules/.bin/node'), [resolve('examples/encounterTable.mjs')], {
          env,
          stdio: 'ignore',
        });
      const patient = samples.patient();
      await service.post('/integration/patients', patient);
      const encounters = Array.from({ length: ENCOUNTERS }, () => samples.encounter(patient.id));
      let consumer = consume();
      for (let round = 0; round <= KILLS; round += 1) {
        for (const [index, encounter] of encounters.entries()) {
          // A value that comes and goes, and one that stays.
          const status = (index + round) % 3 === 0 ? null : `round ${round}`;
          const sent = { ...encounter, status, ...(round === 0 && { visit_type: 'telehealth' }) };
          expect((await service.post('/integration/encounters', sent)).status).toBe(200);
        }
        if (round === KILLS) break;
        await eventually(() => expect(rowsOf(table).length).toBeGreaterThan(0), LONG_MS);
        consumer.kill('SIGKILL');
        await once(consumer, 'exit');
        consumer = consume();
      }
      await eventually(() => {
        expect(rowsOf(table).filter(({ version }) => version === KILLS + 1)).toHaveLength(ENCOUNTERS);
      }, LONG_MS);
      consumer.kill('SIGKILL');
      await once(consumer, 'exit');
      for (const { id, fields } of rowsOf(table)) {
        const { body } = await service.get(`/integration/encounters/${id}`);
        expect(JSON.parse(fields)).toEqual(body.record);
      }
    },
    LONG_MS * 2,
  );
});

function rowsOf(path: string): { id: string; version: number; fields: string }[] {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return db.prepare('SELECT id, version, fields FROM encounters').all() as ReturnType<typeof rowsOf>;
  } finally {
    db.close();
  }
}
