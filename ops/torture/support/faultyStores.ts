import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { threadId } from 'node:worker_threads';
import { unavailable } from '../../../src/platform/errors.ts';
import { LocalDocumentStore } from '../../../src/storage/engines/filesystem/documentStore.ts';
import { SqliteEventLog } from '../../../src/storage/engines/sqlite/eventLog.ts';
import { SqliteReadModels } from '../../../src/storage/engines/sqlite/readModels.ts';
import { SqliteStateStore } from '../../../src/storage/engines/sqlite/stateStore.ts';

import { choices } from '../../../test/support/choices.ts';

/**
 * Loaded before the service, in each of its threads: while the file `TORTURE_FAULTS` exists, calls of the ports are
 * delayed, fail, fail after they were carried out, are carried out twice, or are answered late, as determined by
 * `TORTURE_SEED`.
 */
const { TORTURE_FAULTS = '', TORTURE_SEED = '1' } = process.env;
const choose = choices(Number(TORTURE_SEED) + threadId);
/** One in this many calls has a fault. */
const ONE_OF = 25;
const LONGEST_DELAY_MS = 300;
const LOOK_EVERY_MS = 100;

let areOn = false;
let lookedAt = Number.NEGATIVE_INFINITY;

function faultsAreOn(): boolean {
  const now = performance.now();
  if (now > lookedAt + LOOK_EVERY_MS) {
    areOn = existsSync(TORTURE_FAULTS);
    lookedAt = now;
  }
  return areOn;
}

type Work = () => Promise<unknown>;
type Fault = (store: string, work: Work) => Promise<unknown>;

const late: Fault = async (_, work) => {
  await sleep(choose(LONGEST_DELAY_MS));
  return work();
};
const fails: Fault = async (store) => {
  throw unavailable(store);
};
const failsAfterwards: Fault = async (store, work) => {
  await work();
  throw unavailable(store);
};
const answersLate: Fault = async (_, work) => {
  const result = await work();
  await sleep(choose(LONGEST_DELAY_MS));
  return result;
};
const twice: Fault = async (_, work) => {
  await work();
  return work();
};

/** Makes calls of these methods fail. Of the methods that promise to tolerate it, some are carried out twice. */
function breakMethods(port: object, store: string, names: string[], repeatable: string[] = []): void {
  const methods = port as Record<string, (...args: unknown[]) => Promise<unknown>>;
  for (const name of [...names, ...repeatable]) {
    const own = methods[name];
    if (own === undefined) throw new Error(`${store} has no ${name}`);
    const faults = [late, fails, failsAfterwards, answersLate, ...(repeatable.includes(name) ? [twice] : [])];
    methods[name] = function (...args) {
      const work = () => own.apply(this, args);
      if (!faultsAreOn() || choose(ONE_OF) !== 0) return work();
      const fault = faults[choose(faults.length)] as Fault;
      return fault(store, work);
    };
  }
}

breakMethods(SqliteEventLog.prototype, 'event log', ['readStream', 'head'], ['append']);
breakMethods(SqliteReadModels.prototype, 'read models', ['load', 'page', 'checkpoint'], ['write']);
breakMethods(SqliteStateStore.prototype, 'state store', ['load', 'page', 'swap'], ['save', 'remove']);
breakMethods(LocalDocumentStore.prototype, 'document store', ['get'], ['claim', 'confirm', 'discard']);

/** `appendEach` never rejects: each event is answered individually. */
const { appendEach } = SqliteEventLog.prototype;
SqliteEventLog.prototype.appendEach = async function (appends) {
  const results = await appendEach.call(this, appends);
  if (!faultsAreOn() || choose(ONE_OF) !== 0) return results;
  return results.map((result) => (choose(4) === 0 ? unavailable('event log') : result));
};
