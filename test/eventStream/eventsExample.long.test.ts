import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runInWorkspace, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { type Fault, flakyNetwork } from '../support/network.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import type { TestService } from '../support/service.ts';

const ENCOUNTERS = 30;
const KILLS = 5;
const LONG_MS = 60_000;

test('the guide shows the consumer as it is', () => {
  expect(readFileSync('docs/guides/consume-the-stream.md', 'utf8')).toContain(
    readFileSync('examples/recordTable.mjs', 'utf8'),
  );
});

const faults: Fault[] = [429, 503, 'cut before', 'cut amid'];
/** Every second request fails. */
const faultOf = (number: number) => (number % 2 === 0 ? faults[(number / 2) % faults.length] : undefined);

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  async function startConsumer(table: string, url: string) {
    const { key } = await service.createKey('clinic', ['events']);
    const env = { PATH: process.env.PATH, CHARTLEDGER_URL: url, CHARTLEDGER_API_KEY: key, TABLE: table };
    return () =>
      spawn(resolve('node_modules/.bin/node'), [resolve('examples/recordTable.mjs')], {
        env,
        stdio: 'ignore',
      });
  }

  async function expectAsRead(table: string) {
    for (const { subject, fields } of rowsOf(table)) {
      const [kind, id] = subject.split('/');
      const { body } = await service.get(`/integration/${kind}s/${id}`);
      expect(body.record).toMatchObject(JSON.parse(fields));
      expect({ country: 'US', ...JSON.parse(fields) }).toEqual({ country: 'US', ...body.record });
    }
  }

  test(
    'the consumer in examples builds its table, however often it is killed',
    async () => {
      const table = join(temporaryFolder(), 'records.db');
      const consume = await startConsumer(table, service.url);
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
      await expectAsRead(table);
    },
    LONG_MS * 2,
  );

  test(
    'it goes on after refusals and lost connections, while others read its table, and replaces insurances whole',
    async () => {
      const table = join(temporaryFolder(), 'records.db');
      const road = await flakyNetwork(() => service.url, faultOf);
      const consume = await startConsumer(table, road.url);
      const [payer, patient] = [samples.payer(), samples.patient()];
      const insurance = { payer_id: payer.id, policy_number: 'w-1', group_number: 'g-1' };
      const versions = [
        { primary_insurance: insurance, secondary_insurance: insurance },
        { primary_insurance: { payer_id: payer.id, policy_number: null, group_number: 'g-2' } },
        { secondary_insurance: null },
      ];
      await service.post('/integration/payers', payer);
      const consumer = consume();
      const ended = once(consumer, 'exit');
      for (const [index, insurances] of versions.entries()) {
        const { status } = await service.post('/integration/patients', { ...patient, ...insurances });
        expect(status).toBe(200);
        await eventually(() => {
          const row = rowsOf(table).find(({ subject }) => subject.endsWith(patient.id));
          expect(row?.version).toBe(index + 1);
        }, LONG_MS);
      }
      await eventually(
        () => expect(road.requests.length).toBeGreaterThanOrEqual(2 * faults.length - 1),
        LONG_MS,
      );
      expect(consumer.exitCode).toBeNull();
      consumer.kill('SIGKILL');
      await ended;
      road.stop();
      await expectAsRead(table);
    },
    LONG_MS * 3,
  );

  test(
    'it removes what is erased, and begins with nothing where the id is used again',
    async () => {
      const table = join(temporaryFolder(), 'records.db');
      const consume = await startConsumer(table, service.url);
      const first = { ...samples.patient(), gender: 'female', address_line_1: phi('1 Elm Street') };
      const { id } = first;
      const survivor = samples.patient();
      const rowOf = (wanted: string) => rowsOf(table).find(({ subject }) => subject === `patient/${wanted}`);
      await service.post('/integration/patients', first);
      await service.post('/integration/patients', survivor);
      const consumer = consume();
      const ended = once(consumer, 'exit');
      await eventually(() => expect(rowOf(id)?.version).toBe(1), LONG_MS);

      const erased = await runInWorkspace(service, 'records', 'erase', 'patient', id, '--reason', 'Asked');
      expect(erased.code).toBe(0);
      await eventually(() => expect(rowOf(id)).toBeUndefined(), LONG_MS);
      await eventually(() => {
        for (const file of [table, `${table}-wal`]) {
          expect(readFileSync(file).includes(first.address_line_1)).toBe(false);
        }
      }, LONG_MS);

      const other = { ...samples.patient(), id };
      await service.post('/integration/patients', { ...other, merged_into: survivor.id });
      await eventually(
        () => expect(JSON.parse(rowOf(id)?.fields ?? '{}').merged_into).toBe(survivor.id),
        LONG_MS,
      );
      expect(JSON.parse(rowOf(id)?.fields ?? '{}')).toEqual({ ...other, merged_into: survivor.id });
      consumer.kill('SIGKILL');
      await ended;
      await expectAsRead(table);
    },
    LONG_MS * 2,
  );
});

function rowsOf(path: string): { subject: string; version: number; fields: string }[] {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return db.prepare('SELECT subject, version, fields FROM records').all() as ReturnType<typeof rowsOf>;
  } finally {
    db.close();
  }
}
