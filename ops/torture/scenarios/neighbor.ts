import { fork } from 'node:child_process';
import { once } from 'node:events';
import { KeyDirectory } from '../../../src/modules/auth/keyDirectory.ts';
import { KeyManager } from '../../../src/modules/auth/keyManager.ts';
import { openEventLog } from '../../../src/server/openStorage.ts';

import { makeStores, type Stores } from '../../bench/support/chartledger.ts';
import { residentMegabytes } from '../../bench/support/processUsage.ts';
import { median, percentile } from '../../bench/support/statistics.ts';
import type { Outcome, Scenario, Torture } from '../scenario.ts';
import { upsertOf } from '../support/FastConnection.ts';
import {
  BATCHES,
  BODIES,
  RATE_LIMIT,
  STREAMS,
  sendBatch,
  UPLOADS,
  WAITS,
} from '../support/hostileNeighbor.ts';
import { type Offered, OpenLoop } from '../support/OpenLoop.ts';
import { send } from '../support/send.ts';
import { TorturedService } from '../support/TorturedService.ts';

const OTHERS_PER_SECOND = 50;
const OTHERS_CONNECTIONS = 200;
const MOST_RATIO = 2;

/** A key that does within its rate limit what harms others most. */
export const neighbor: Scenario = {
  name: 'neighbor',
  description: `One key sends, within its rate limit of ${RATE_LIMIT} requests per minute, what holds most: ${STREAMS} event streams that it does not read, ${BODIES} FHIR bodies and ${BATCHES} batches that stop before their end, ${UPLOADS} uploads that stop, ${WAITS} requests that wait for records that never come, and one batch after another. A key of another workspace sends ${OTHERS_PER_SECOND} upserts per second, in turns without and with it. None of these may be refused, and their p99 may rise by less than a factor of ${MOST_RATIO}.`,
  async run(torture: Torture): Promise<Outcome> {
    const { short, progress } = torture;
    const stores = await makeStores(torture);
    const hostile = await addHostileKey(stores);
    const service = new TorturedService(stores.env);
    const url = await service.start();
    let number = 0;
    const request = () => {
      number += 1;
      return upsertOf(stores.key.key, number);
    };
    await fill(url, hostile);
    const others = new OpenLoop(url, OTHERS_CONNECTIONS);
    await others.open(request);
    // The rate limit is one of a minute.
    const seconds = short ? 5 : 60;
    const rounds = short ? 2 : 5;
    const [alone, beside]: [Offered[], Offered[]] = [[], []];
    const memory = [residentMegabytes(service.pid).all];
    await others.offer(OTHERS_PER_SECOND, seconds, request);
    for (let round = 0; round < rounds; round += 1) {
      alone.push(await others.offer(OTHERS_PER_SECOND, seconds, request));
      // A separate process, so that its work does not delay what is measured here.
      const neighbor = fork(new URL('../support/hostileNeighborProcess.ts', import.meta.url), [url, hostile]);
      const gone = once(neighbor, 'exit');
      beside.push(await others.offer(OTHERS_PER_SECOND, seconds, request));
      memory.push(residentMegabytes(service.pid).all);
      neighbor.kill('SIGKILL');
      await gone;
      progress(`round ${round + 1} of ${rounds}: p99 ${p99Of(alone.at(-1))} ms, ${p99Of(beside.at(-1))} ms`);
    }
    others.close();
    await service.end();
    return judge(alone, beside, memory);
  },
};

function judge(alone: Offered[], beside: Offered[], memory: number[]): Outcome {
  const ratios = beside.map((offered, round) => p99Of(offered) / p99Of(alone[round]));
  const all = [...alone, ...beside];
  const answers = all.flatMap((offered) => offered.answers);
  const refused = answers.filter(({ status }) => status !== 200).length;
  const sum = (of: 'unanswered' | 'unsent') => all.reduce((total, offered) => total + offered[of], 0);
  const unanswered = sum('unanswered');
  const ratio = median(ratios);
  return {
    figures: [
      ['requests of others', answers.length],
      ['of them refused, or not answered', refused + unanswered],
      ['not sent, as all connections of the client were waiting', sum('unsent')],
      ['p99 of others without the hostile key, ms (median of the rounds)', median(alone.map(p99Of))],
      ['p99 of others with the hostile key, ms (median of the rounds)', median(beside.map(p99Of))],
      ['the second divided by the first (median of the rounds)', ratio],
      ['memory before, and in each round with it, MB', memory.map(Math.round).join(', ')],
    ],
    failures: [
      ...(refused > 0 ? [`${refused} requests of others were refused`] : []),
      ...(unanswered > 0 ? [`${unanswered} requests of others were not answered`] : []),
      ...(ratio < MOST_RATIO ? [] : [`the p99 of others rose by a factor of ${ratio.toFixed(2)}`]),
    ],
  };
}

function p99Of(offered: Offered | undefined): number {
  const sorted = offered?.answers.map(({ milliseconds }) => milliseconds).sort((a, b) => a - b) ?? [];
  return Math.round(percentile(sorted, 0.99) * 10) / 10;
}

/** Creates the hostile key, in a workspace of its own. */
async function addHostileKey({ config }: Stores): Promise<string> {
  const eventLog = await openEventLog(config.eventLogUrl);
  const directory = await KeyDirectory.open(eventLog);
  const manager = new KeyManager(directory, { principal: { type: 'operator', id: 'torture' } });
  const permissions = ['write', 'read', 'events'] as const;
  const limits = { rate_limit: RATE_LIMIT };
  const { key } = await manager.createKey('hostile', 'Hostile', [...permissions], {}, limits);
  directory.close();
  await eventLog.close();
  return key;
}

/** Writes what the unread streams have to send, and the encounter to which the uploads go. */
async function fill(url: string, key: string): Promise<void> {
  await sendBatch(url, key, 5_000, 'x'.repeat(900));
  const records = [
    ['patients', { id: 'p', first_name: 'A', last_name: 'B', date_of_birth: '1984-02-29', gender: 'female' }],
    ['encounters', { id: 'e', patient_id: 'p', date_of_service: '2026-03-14' }],
  ] as const;
  for (const [path, record] of records) {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    await send(url, false, {
      ...{ method: 'POST', path: `/integration/${path}`, headers },
      body: JSON.stringify(record),
    });
  }
}
