import { createReadStream, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { projectionStatus } from '../../../src/modules/records/queries/records.ts';
import type { Config } from '../../../src/platform/config.ts';
import { openEventLog, openReadModels } from '../../../src/server/openStorage.ts';

import { spawnCli } from '../../../test/support/cli.ts';
import { pathsIn } from '../../../test/support/files.ts';

import { makeStores } from '../../bench/support/chartledger.ts';
import { bodyOf, PAYERS } from '../../bench/support/load/bodies.ts';
import { percentile } from '../../bench/support/statistics.ts';
import type { Outcome, Scenario, Torture } from '../scenario.ts';
import { upsertOf } from '../support/FastConnection.ts';
import { type Offered, OpenLoop } from '../support/OpenLoop.ts';
import { lineOf, payers, sendLines } from '../support/sendLines.ts';
import { TorturedService } from '../support/TorturedService.ts';

const LINES = 20_000;
const PER_SECOND = 10;
const CONNECTIONS = 50;
/** The load is offered in rounds of so many seconds. */
const ROUND_S = 5;
const WATCH_EVERY_MS = 100;
const MEGABYTE = 1_000_000;
const MOST_WAL_MB = 500;
/** What an erased patient is found by. */
const NAME = 'Vanishingham';

/** Patients of a large log are erased while others read lists and write. */
export const erasures: Scenario = {
  name: 'erasures',
  description: `Of a log of a million events, one for each of as many patients, some patients are erased, one after the other, while ${PER_SECOND} lists and ${PER_SECOND} upserts per second are requested. None of these may be refused, the write-ahead logs must stay below ${MOST_WAL_MB} MB, and in the end no file may hold the names of the erased.`,
  async run(torture: Torture): Promise<Outcome> {
    const { short, progress, folder } = torture;
    const limits = { BATCH_LINES_PER_MINUTE: '1000000000' };
    const stores = await makeStores({ folder }, limits, ['write', 'read']);
    const service = new TorturedService(stores.env);
    const url = await service.start();
    const patients = Array.from({ length: short ? 2 : 5 }, (_, n) => `vanishing-${n}`);
    const total = short ? 40_000 : 1_000_000;
    await sendLines(url, stores, payers());
    await sendLines(url, stores, patients.map(vanishing));
    for (let from = 0; from < total; from += LINES) {
      await sendLines(
        url,
        stores,
        Array.from({ length: LINES }, (_, n) => lineOf('patient', bodyOf('patients', from + n))),
      );
      if ((from + LINES) % 100_000 === 0) progress(`${from + LINES} events`);
    }
    await caughtUp(stores.config);
    progress('the read models hold everything');
    const files = storesIn(folder).reduce((sum, path) => sum + sizeOf(path), 0) / MEGABYTE;
    const before = await filesWith(folder, NAME);
    const under = new LoadBeside(url, stores.key.key);
    const wal = watchWal(folder);
    const seconds: number[] = [];
    const failed: string[] = [];
    for (const id of patients) {
      const startedAt = performance.now();
      const about = ['--workspace', stores.key.workspace, '--reason', 'asked for', '--with-encounters'];
      const { code, stderr } = await spawnCli(['records', 'erase', 'patient', id, ...about], {
        env: stores.env,
      });
      seconds.push((performance.now() - startedAt) / 1_000);
      if (code !== 0) failed.push(`erase ended with ${code}: ${stderr}`);
      progress(`${id}: ${seconds.at(-1)?.toFixed(1)} s`);
    }
    const [lists, upserts] = await under.end();
    const mostWal = wal();
    await service.end();
    const after = await filesWith(folder, NAME);
    return {
      figures: [
        ['events', total],
        ['size of the files, MB', Math.round(files)],
        ['patients erased', patients.length],
        ['the longest erasure, s', Math.max(...seconds)],
        ...figuresOf('lists', lists),
        ...figuresOf('upserts', upserts),
        ['the largest write-ahead log, MB', Math.round(mostWal)],
        ['files with names of the erased, before and after', `${before.length}, ${after.length}`],
      ],
      failures: [
        ...failed,
        ...failuresOf('lists', lists),
        ...failuresOf('upserts', upserts),
        ...(mostWal > MOST_WAL_MB ? [`a write-ahead log grew to ${Math.round(mostWal)} MB`] : []),
        ...(before.length === 0 ? ['no file held the names before'] : []),
        ...after.map((name) => `${name} still holds the name of an erased patient`),
      ],
    };
  },
};

/** Requests of others, until `end`. */
class LoadBeside {
  readonly #isOver = new AbortController();
  readonly #running: Promise<[lists: Offered[], upserts: Offered[]]>;

  constructor(url: string, key: string) {
    const list = Buffer.from(
      `GET /integration/patients?limit=50 HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${key}\r\n\r\n`,
    );
    let number = 0;
    const upsert = () => {
      number += 1;
      return upsertOf(key, number, PAYERS);
    };
    this.#running = Promise.all([this.#offer(url, () => list), this.#offer(url, upsert)]);
  }

  end(): Promise<[lists: Offered[], upserts: Offered[]]> {
    this.#isOver.abort();
    return this.#running;
  }

  async #offer(url: string, request: () => Buffer): Promise<Offered[]> {
    const loop = new OpenLoop(url, CONNECTIONS);
    const rounds: Offered[] = [];
    while (!this.#isOver.signal.aborted) rounds.push(await loop.offer(PER_SECOND, ROUND_S, request));
    loop.close();
    return rounds;
  }
}

function figuresOf(what: string, rounds: Offered[]): Outcome['figures'] {
  const times = rounds.flatMap(({ answers }) => answers.map(({ milliseconds }) => milliseconds));
  times.sort((a, b) => a - b);
  return [
    [`${what}: requests`, times.length],
    [
      `${what}: p50, p99, longest, ms`,
      [0.5, 0.99, 1].map((q) => Math.round(percentile(times, q))).join(', '),
    ],
  ];
}

function failuresOf(what: string, rounds: Offered[]): string[] {
  const refused = rounds.flatMap(({ answers }) => answers).filter(({ status }) => status !== 200);
  const statuses = [...new Set(refused.map(({ status }) => status))];
  const missing = rounds.reduce((sum, { unanswered, unsent }) => sum + unanswered + unsent, 0);
  return [
    ...(refused.length > 0 ? [`${refused.length} ${what} were answered with ${statuses.join(', ')}`] : []),
    ...(missing > 0 ? [`${missing} ${what} were not answered`] : []),
  ];
}

function vanishing(id: string): string {
  const record = { id, first_name: 'Maria', last_name: NAME, date_of_birth: '1984-02-29', gender: 'female' };
  return lineOf('patient', JSON.stringify(record));
}

async function caughtUp({ eventLogUrl, readModelUrl }: Config): Promise<void> {
  const [eventLog, readModels] = [await openEventLog(eventLogUrl), await openReadModels(readModelUrl)];
  try {
    while ((await projectionStatus(eventLog, readModels)).some(({ behind }) => behind > 0))
      await sleep(1_000);
  } finally {
    await Promise.all([eventLog.close(), readModels.close()]);
  }
}

function storesIn(folder: string): string[] {
  return pathsIn(folder).filter((path) => path.endsWith('.db'));
}

/** Returns the bytes of a file; 0 where it does not exist. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Watches the write-ahead logs until the returned function is called, which returns the megabytes of the largest at any time. */
function watchWal(folder: string): () => number {
  const paths = storesIn(folder).map((path) => `${path}-wal`);
  let most = 0;
  const timer = setInterval(() => {
    for (const path of paths) most = Math.max(most, sizeOf(path));
  }, WATCH_EVERY_MS);
  return () => {
    clearInterval(timer);
    return most / MEGABYTE;
  };
}

/** Resolves with the files that hold a text. */
async function filesWith(folder: string, text: string): Promise<string[]> {
  const found: string[] = [];
  for (const path of pathsIn(folder)) {
    let rest = '';
    for await (const chunk of createReadStream(path, { encoding: 'latin1', highWaterMark: MEGABYTE })) {
      if ((rest + chunk).includes(text)) {
        found.push(path.slice(folder.length + 1));
        break;
      }
      rest = chunk.slice(-text.length);
    }
  }
  return found;
}
