import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { catalogEntry } from '../../src/domain/records/catalog.ts';
import { openEventLog } from '../../src/server/openStorage.ts';

import { type CliResult, spawnCli, temporaryFolder } from '../support/cli.ts';
import { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { Follower } from '../support/log.ts';
import { ServiceProcess } from '../support/processes.ts';
import { freePort } from '../support/servers.ts';
import { readAll } from '../support/service.ts';

/** Records of an import; the figures of decision 054, which are measured when a number is given, are of 100,000. */
const RECORDS = Number(process.env.IMPORT_RECORDS ?? 8_000);
/** Records that are sent one by one, for comparison. */
const SINGLE = Math.min(RECORDS / 10, 2_000);
const AT_ONCE = 16;
const KILLS = 3;
const LONG_MS = 120_000 + RECORDS * 20;

type Line = { kind: 'patient' | 'encounter'; record: { id: string } };

/** A patient for every ten records, whose encounters are all the others; those come first. */
function sampleLines(count: number, prefix: string): Line[] {
  const patients = Math.ceil(count / 10);
  const lines = Array.from({ length: count }, (_, index): Line => {
    const number = index - (count - patients);
    if (number < 0) {
      const patient_id = `${prefix}-patient-${index % patients}`;
      const date_of_service = '2026-01-02T09:30:00Z';
      return {
        kind: 'encounter',
        record: { id: `${prefix}-${index}`, patient_id, date_of_service } as Line['record'],
      };
    }
    const named = { first_name: 'Maria', last_name: 'Lopez', date_of_birth: '1984-02-29' };
    return { kind: 'patient', record: { id: `${prefix}-patient-${number}`, ...named } };
  });
  return lines;
}

const dataDir = join(temporaryFolder(), 'data');
let service: ServiceProcess;
afterAll(() => service.end());

/** The records' events, by how often each record has one. */
function timesOf(events: readonly RecordedEvent[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const { stream, type } of events)
    if (type.endsWith('Upserted')) times.set(stream, (times.get(stream) ?? 0) + 1);
  return times;
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
}

/** Sends records as an EMR without batches does. */
async function postEach(client: Client, lines: Line[]): Promise<void> {
  const waiting = [...lines];
  const send = async () => {
    for (let line = waiting.pop(); line; line = waiting.pop()) {
      const { status } = await client.post(`/integration/${catalogEntry(line.kind).plural}`, line.record);
      expect(status).toBe(200);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, send));
}

/** Prints the figures of decision 054. */
async function measure(client: Client, folder: string, start: () => Promise<CliResult>): Promise<void> {
  const singles = sampleLines(SINGLE, 'single');
  const oneByOne = await secondsOf(async () => {
    await postEach(
      client,
      singles.filter(({ kind }) => kind === 'patient'),
    );
    await postEach(
      client,
      singles.filter(({ kind }) => kind === 'encounter'),
    );
  });
  const whole = sampleLines(RECORDS, 'again');
  writeFileSync(join(folder, 'records.ndjson'), whole.map((line) => JSON.stringify(line)).join('\n'));
  const batches = JSON.parse((await start()).stdout);
  expect(batches).toMatchObject({ accepted: RECORDS, created: RECORDS });
  const figures = {
    'one by one, 16 at once': Math.round(SINGLE / oneByOne),
    'importer, undisturbed': Math.round(RECORDS / batches.seconds),
  };
  process.stdout.write(`${RECORDS} records, records/s: ${JSON.stringify(figures)}\n`);
}

test(
  `${RECORDS} records through batches, with the service and the importer killed ${KILLS} times on the way, lose and double nothing`,
  async () => {
    const settings = { DATA_DIR: dataDir, RATE_LIMIT_PER_MINUTE: '0', PORT: String(await freePort()) };
    service = new ServiceProcess(settings);
    const url = await service.url();
    const made = await spawnCli(
      [
        'keys',
        'create',
        '--create-workspace',
        '--workspace',
        'clinic',
        '--name',
        'Import',
        '--permissions',
        'write,read',
      ],
      { env: { DATA_DIR: dataDir } },
    );
    const key = /clk_\w{38}/.exec(made.stdout)?.[0] as string;
    const log = await openEventLog(`sqlite:${join(dataDir, 'events.db')}`);
    const folder = temporaryFolder();
    const lines = sampleLines(RECORDS, 'batch');
    writeFileSync(join(folder, 'records.ndjson'), lines.map((line) => JSON.stringify(line)).join('\n'));
    const start = (kill?: AbortSignal): Promise<CliResult> =>
      spawnCli(['import', 'records.ndjson', '--format', 'ndjson', '--url', url, '--json'], {
        cwd: folder,
        env: { CHARTLEDGER_API_KEY: key },
        ...(kill && { kill }),
      });

    const before = await log.head();
    const progress = new Follower(log, { after: before });
    const count = () => progress.batches.reduce((sum, { events }) => sum + events.length, 0);
    const killed = async (
      kills: number,
      alone: boolean,
      running: Promise<CliResult>,
      kill: AbortController,
    ) => {
      // In the first half of the import, which must not have ended before a kill has come through.
      const wanted = Math.floor(((kills + 1) * RECORDS) / (2 * (KILLS + 2)));
      await eventually(() => expect(count()).toBeGreaterThan(wanted), LONG_MS);
      const ended = service.end('SIGKILL');
      if (!alone) {
        // In turns, as each may find the other there.
        if (kills % 2 === 0) await ended;
        kill.abort();
        expect((await running).code).toBe(null);
      }
      await ended;
      service = new ServiceProcess(settings);
      await service.url();
    };
    for (let kills = 0; kills < KILLS; kills++) {
      const kill = new AbortController();
      await killed(kills, false, start(kill.signal), kill);
    }
    const surviving = start();
    await killed(KILLS, true, surviving, new AbortController());
    const last = await surviving;
    await progress.stop();
    expect(last.stderr).toMatch(/^Going on with the import that was begun at /);
    expect({ code: last.code, ...JSON.parse(last.stdout) }).toMatchObject({
      code: 0,
      accepted: RECORDS,
      created: RECORDS,
      updated: 0,
      rejected: 0,
    });
    expect(readdirSync(folder)).toEqual(['records.ndjson']);
    const times = timesOf(await readAll(log, before));
    expect(times.size).toBe(RECORDS);
    expect([...times.values()].filter((each) => each !== 1)).toEqual([]);

    await log.close();
    if (process.env.IMPORT_RECORDS) await measure(new Client(url, key), folder, start);
  },
  LONG_MS,
);
