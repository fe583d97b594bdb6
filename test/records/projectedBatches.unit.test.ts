import { rmSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { ProjectedBatches } from '../../src/modules/projections/projectedBatches.ts';
import { openEventLog } from '../../src/server/openStorage.ts';
import type { EventBatch, EventLog } from '../../src/storage/eventLog.ts';
import { temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { TestWorkspace } from '../support/samples.ts';

const folder = temporaryFolder();
const workspace = new TestWorkspace();
let eventLog: EventLog;
/** A batch with each event of the log. */
let all: EventBatch[];

beforeAll(async () => {
  eventLog = await openEventLog(`sqlite:${folder}/events.db`);
  for (let at = 0; at < 12; at += 1) {
    const event = workspace.event({ id: '1', name: `Aetna ${at}` }, 'PayerUpserted');
    await eventLog.append(workspace.stream('payer-1'), event, 'any');
  }
  await eventLog.append(
    workspace.stream('patient-1'),
    workspace.event({ id: '1' }, 'PatientUpserted'),
    'any',
  );
  const { signal } = new AbortController();
  for await (const batch of eventLog.follow({ after: 0, signal })) {
    all = batch.events.map((event) => ({ events: [event], position: event.position, caughtUp: false }));
    break;
  }
});
afterAll(async () => {
  await eventLog.close();
  rmSync(folder, { recursive: true });
});

let batches: ProjectedBatches;
let seen: number[];
/** Places after which the log was followed. */
let reads: number[];
let stop: AbortController;

beforeEach(() => {
  batches = new ProjectedBatches();
  seen = [];
  reads = [];
  stop = new AbortController();
});

/** Notes the events that a reader behind the projector gets, until the test stops it. */
async function read(after: number): Promise<void> {
  const log = new Proxy(eventLog, {
    get: (target, name) =>
      name === 'follow'
        ? (options: Parameters<EventLog['follow']>[0]) => {
            reads.push(options.after);
            return target.follow(options);
          }
        : Reflect.get(target, name).bind(target),
  });
  const { signal } = stop;
  for await (const { events } of batches.follow(log, ['PayerUpserted'], { after, signal }))
    seen.push(...events.map(({ position }) => position));
}

function project(from: number, to: number): void {
  for (const batch of all.slice(from, to)) batches.add(batch.position - 1, batch);
}

const first = () => all[0]?.position ?? 0;
const places = (from: number, to: number) => all.slice(from, to).map(({ position }) => position);

test('what the projector folds is read without the log, each event of the wanted types once', async () => {
  project(0, 1);
  const reading = read(first());
  project(1, 3);
  await eventually(() => expect(seen).toEqual(places(1, 3)));
  project(3, 4);
  await eventually(() => expect(seen).toEqual(places(1, 4)));
  project(4, 8);
  await eventually(() => expect(seen).toEqual(places(1, 8)));
  project(8, 13);
  await eventually(() => expect(seen.slice(0, 11)).toEqual(places(1, 12)));
  stop.abort();
  await reading;
  expect(seen).toEqual(places(1, 12));
});

test('a reader in the middle of a batch gets the rest of it', async () => {
  const events = all.slice(0, 4).flatMap((batch) => batch.events);
  batches.add(first() - 1, { events, position: all[3]?.position as number, caughtUp: true });
  const reading = read(all[1]?.position as number);
  await eventually(() => expect(seen).toEqual(places(2, 4)));
  stop.abort();
  await reading;
  expect(reads).toEqual([]);
});

test('a reader that is further behind reads the log up to what is at hand', async () => {
  project(0, 12);
  const reading = read(0);
  await eventually(() => expect(seen).toEqual(places(0, 12)));
  stop.abort();
  await reading;
  expect(reads).toEqual([0]);
});

test('where the projector begins anew, nothing is repeated or left out', async () => {
  project(0, 3);
  const reading = read(first());
  await eventually(() => expect(seen).toEqual(places(1, 3)));
  batches.clear();
  project(0, 2);
  project(2, 6);
  await eventually(() => expect(seen.slice(0, 5)).toEqual(places(1, 6)));
  stop.abort();
  await reading;
  expect(new Set(seen).size).toBe(seen.length);
});

test('while the projector does not read all events, the log is read', async () => {
  const reading = read(0);
  await eventually(() => expect(seen).toEqual(places(0, 12)));
  stop.abort();
  await reading;
});
