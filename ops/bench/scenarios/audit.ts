import { openEventLog } from '../../../src/app/openBackend.ts';
import { UserDirectory } from '../../../src/principals/users/UserDirectory.ts';
import { UserManager } from '../../../src/principals/users/UserManager.ts';
import { encodeToken } from '../../../src/reads/page.ts';
import type { Bench, Check, Report, Scenario } from '../scenario.ts';
import { caughtUp, makeStores, type Stores, startChartledger } from '../support/chartledger.ts';
import { growLog } from '../support/growLog.ts';
import { number, withRange } from '../support/report.ts';
import { median, ratios, spread } from '../support/statistics.ts';

const RECORDS = 5_000;
const user = { name: 'bench', password: 'correct horse battery staple' };

/** Makes a user who may read the audit trail. */
async function makeUser({ config }: Stores): Promise<void> {
  const eventLog = await openEventLog(config.eventLogUrl);
  const directory = await UserDirectory.open(eventLog);
  const manager = new UserManager(directory, { principal: { type: 'operator', id: 'bench' } });
  await manager.create({ ...user, role: 'compliance' });
  directory.close();
  await eventLog.close();
}

/** Signs the user in; the result are the cookies of the session. */
async function signIn(url: string): Promise<string> {
  const form = await fetch(`${url}/dashboard/sign-in`);
  const cookiesOf = ({ headers }: Response) =>
    headers
      .getSetCookie()
      .map((cookie) => cookie.split(';')[0])
      .join('; ');
  const [, token = ''] = /name="csrf_token" value="([^"]+)"/.exec(await form.text()) ?? [];
  const answer = await fetch(`${url}/dashboard/sign-in`, {
    method: 'POST',
    body: new URLSearchParams({ ...user, csrf_token: token }),
    headers: { cookie: cookiesOf(form) },
    redirect: 'manual',
  });
  if (answer.status !== 303) throw new Error(`${answer.status} for the sign-in`);
  return cookiesOf(answer);
}

/** Milliseconds of one page. */
async function load(url: string, cookie: string): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(url, { headers: { cookie }, redirect: 'manual' });
  const text = await response.text();
  const milliseconds = performance.now() - startedAt;
  if (response.status !== 200 || !text.includes('Audit trail'))
    throw new Error(`${response.status} for ${url}`);
  return milliseconds;
}

async function run(bench: Bench): Promise<Report> {
  const entries = bench.quick ? 10_000 : 100_000;
  const stores = await makeStores(bench);
  await makeUser(stores);
  const half = { records: RECORDS, events: entries / 2 };
  await growLog(bench, stores, half);
  const middle = new Date().toISOString();
  await growLog(bench, stores, half);
  const server = await startChartledger(bench, stores);
  await caughtUp(server.url);
  const cookie = await signIn(server.url);
  const pages = new Map([
    ['the newest', ''],
    ['far down', `page_token=${encodeToken(entries / 2)}`],
    ['before a time', `to=${middle}`],
    ['of the key', `principal=${stores.key.id}`],
    ['of one record', 'id=patient-77'],
    ['of a record that is not there', 'id=nobody'],
    ['of a key and refused: none', `principal=${stores.key.id}&outcome=refused`],
  ]);
  const times = new Map<string, number[]>([...pages.keys()].map((name) => [name, []]));
  const repeats = bench.quick ? 5 : 50;
  for (let round = 0; round <= bench.rounds; round++) {
    bench.progress(`round ${round} of ${bench.rounds}`);
    const ofRound = new Map<string, number[]>([...pages.keys()].map((name) => [name, []]));
    for (let turn = 0; turn < repeats; turn++) {
      for (const [name, query] of pages) {
        const url = `${server.url}/dashboard/workspaces/${stores.key.workspace}/audit?${query}`;
        ofRound.get(name)?.push(await load(url, cookie));
      }
    }
    // The first round warms up.
    if (round > 0) for (const [name, found] of ofRound) times.get(name)?.push(median(found));
  }
  await server.stop();
  const newest = times.get('the newest') as number[];
  const checks: Check[] = [...times]
    .filter(([, measured]) => measured !== newest)
    .map(([name, measured]) => ({
      what: `${number(entries)} entries: the page ${name} to the newest`,
      measured: ratios(measured, newest),
      unit: '×',
    }));
  const rows = [...times].map(([name, measured]) => [name, withRange(spread(measured))]);
  return { figures: [{ columns: ['page', 'ms'], rows }], checks };
}

export const audit: Scenario = {
  name: 'audit',
  description:
    'Pages of 50 entries of an audit trail in the dashboard, each read recorded in it, in a log of 100,000 upserts ' +
    '(10,000 in the quick form); one request after the other.',
  run,
};
