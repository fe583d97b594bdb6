import { setTimeout as sleep } from 'node:timers/promises';
import { choices } from '../../../test/support/choices.ts';
import { mongoDbCommand, OwnServers, testServerCommand } from '../../../test/support/servers.ts';

import { makeStores } from '../../bench/support/chartledger.ts';
import type { Outcome, Scenario, Torture } from '../scenario.ts';
import { disturbed } from '../support/disturbed.ts';

const LONGEST_AWAY_MS = 8_000;
const LONGEST_BETWEEN_MS = 3_000;

const STALLS_S = [1, 3, 6];
/** After a stall, for the responses of those who waited. */
const SETTLE_MS = 2_000;

/** Lets the event log answer nobody for some seconds, as a server that collects garbage does, and counts who was refused. */
async function stall(
  { eventLog }: OwnServers,
  { short }: Torture,
  answers: ReadonlyMap<string, number>,
): Promise<Outcome> {
  const figures: Outcome['figures'] = [];
  for (const seconds of STALLS_S) {
    let [refused, all] = [0, 0];
    for (let n = 0; n < (short ? 1 : 10); n += 1) {
      const before = new Map(answers);
      eventLog.freeze();
      await sleep(seconds * 1_000);
      eventLog.thaw();
      await sleep(SETTLE_MS);
      for (const [name, many] of answers) {
        const more = many - (before.get(name) ?? 0);
        all += more;
        if (name.startsWith('503')) refused += more;
      }
    }
    figures.push([`event log stands still for ${seconds} s: requests refused`, `${refused} of ${all}`]);
  }
  return { figures, failures: [] };
}

/** Takes one of the servers down, again and again, and brings it back. */
async function takeAway(servers: OwnServers, { short, seed, progress }: Torture): Promise<Outcome> {
  const choose = choices(seed);
  const counts = { killed: [0, 0], frozen: [0, 0] };
  const all = [servers.eventLog, servers.database];
  const many = short ? 4 : 60;
  for (let n = 1; n <= many; n += 1) {
    const which = choose(all.length);
    const server = all[which] as (typeof all)[number];
    const what = choose(2) === 0 ? 'killed' : 'frozen';
    (counts[what][which] as number) += 1;
    if (what === 'killed') await server.kill();
    else server.freeze();
    await sleep(choose(LONGEST_AWAY_MS));
    if (what === 'killed') await server.start();
    else server.thaw();
    await sleep(choose(LONGEST_BETWEEN_MS));
    if (n % 10 === 0) progress(`${n} of ${many} times`);
  }
  const figures: Outcome['figures'] = [
    ['event log killed, frozen', `${counts.killed[0]}, ${counts.frozen[0]}`],
    ['database stopped, frozen', `${counts.killed[1]}, ${counts.frozen[1]}`],
  ];
  return { figures, failures: [] };
}

/** The servers under the service die or freeze. */
export const servers: Scenario = {
  name: 'servers',
  description:
    'On EventStoreDB and MongoDB, or what stands in for them: under a load of writers the event log is killed, the database is stopped, or either is frozen, for up to eight seconds, again and again; before that, the event log stands still for 1, 3 and 6 seconds. Every answer is 200, or 503 and 409 that may be repeated; in the end all is as the answers said.',
  async run(torture: Torture): Promise<Outcome> {
    const [eventLog, database] = [testServerCommand(), mongoDbCommand()];
    if (!eventLog || !database) {
      const leftOut = 'TEST_ESDB_RESTART and TEST_MONGODB_RESTART do not start servers';
      return { leftOut, figures: [], failures: [] };
    }
    const own = new OwnServers(eventLog, database);
    try {
      const env = { ...(await own.start()), RATE_LIMIT_PER_MINUTE: '0' };
      const stores = await makeStores(torture, env, ['write', 'read']);
      return await disturbed(torture, {
        stores,
        // What is tested is when servers go and come, not how much is written in between.
        pauseMs: torture.short ? 50 : 0,
        async disturb(_, answers) {
          const stalled = await stall(own, torture, answers);
          const { figures, failures } = await takeAway(own, torture);
          return { figures: [...stalled.figures, ...figures], failures };
        },
      });
    } finally {
      await own.remove();
    }
  },
};
