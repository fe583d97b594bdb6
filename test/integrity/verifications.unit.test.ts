import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { addLeaf, emptyTree, leafHash } from '../../src/domain/merkle.ts';
import {
  type RunVerification,
  Verifications,
  type VerifiedHistory,
  verificationTable,
} from '../../src/modules/integrity/jobs.ts';
import { PublicKeys } from '../../src/modules/integrity/publicKeys.ts';
import { unavailable } from '../../src/platform/errors.ts';
import { openStateStore } from '../../src/server/openStorage.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';

import { temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { withFaults } from '../support/service.ts';

const folder = temporaryFolder();
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const user = { type: 'user', id: 'usr_1' } as const;
const findings = {
  ...{ events: 1, compared: 1, heads: 0, problems: [] as string[], remarks: [] },
  erased: { count: 0, erasures: 0, told: [] },
};
const tree = addLeaf(emptyTree, leafHash('event'));

let stateStore: StateStore;
let opened = 0;
let failures: unknown[];
/** Ends what runs, in its order. */
let running: PromiseWithResolvers<VerifiedHistory>[];
const made: Verifications[] = [];

beforeEach(async () => {
  stateStore = await openStateStore(`sqlite:${join(folder, `${opened++}-state.db`)}`);
  failures = [];
  running = [];
});
afterEach(async () => {
  for (const one of made.splice(0)) await one.close();
  await stateStore.close();
});

interface Ports {
  /** Null: the process does not have it. */
  key: KeyObject | null;
  store: StateStore;
}

/** As a process has them. */
function verifications({ key = privateKey, store = stateStore }: Partial<Ports> = {}): Verifications {
  const run: RunVerification = (_job, onProgress, signal) => {
    const one = Promise.withResolvers<VerifiedHistory>();
    signal.addEventListener('abort', () => one.reject(signal.reason));
    onProgress(40, 80, 7);
    running.push(one);
    return one.promise;
  };
  const created = new Verifications({
    stateStore: store,
    run,
    signingKey: async () => (key ? { privateKey: key, rotations: [] } : undefined),
    publicKeys: async () => new PublicKeys([publicKey]),
    onFailure: (error) => failures.push(error),
  });
  made.push(created);
  return created;
}

const record = () => Promise.resolve();
const found = (more: Partial<typeof findings> = {}): VerifiedHistory => ({
  ...{ findings: { ...findings, ...more }, tree, lastEvent: { id: 'event-1' } },
});
const outcomeIs = (of: Verifications, outcome: string) =>
  eventually(async () => expect(await of.last('clinic')).toMatchObject({ outcome }));

test('every process sees how far one is, and what came of it', async () => {
  const [one, other] = [verifications(), verifications()];
  expect(await other.last('clinic')).toBeUndefined();
  await one.start('clinic', user, record);
  await eventually(async () =>
    expect(await other.last('clinic')).toMatchObject({ position: 40, until: 80, events: 7, asked_by: user }),
  );
  expect((await other.last('clinic'))?.outcome).toBeUndefined();
  running[0]?.resolve(found());
  await outcomeIs(other, 'holds');
  expect(await other.last('clinic')).toMatchObject({ findings, head: { workspace: 'clinic', size: 1 } });
});

test('one runs at a time: of a process, and of a workspace in all of them', async () => {
  const [one, other] = [verifications(), verifications()];
  await one.start('clinic', user, record);
  const refused = vi.fn(record);
  const conflict = { code: 'conflict', message: expect.stringContaining('in progress') };
  await expect(one.start('clinic', user, refused)).rejects.toMatchObject(conflict);
  await expect(one.start('other', user, refused)).rejects.toMatchObject(conflict);
  await expect(other.start('clinic', user, refused)).rejects.toMatchObject(conflict);
  expect(refused).not.toHaveBeenCalled();
  await eventually(() => expect(running).toHaveLength(1));
  running[0]?.resolve(found());
  await outcomeIs(one, 'holds');
  await eventually(() => other.start('clinic', user, record));
});

test('nothing runs when the audit trail could not be told', async () => {
  const one = verifications();
  const away = () => Promise.reject(unavailable('event log'));
  await expect(one.start('clinic', user, away)).rejects.toMatchObject({ code: 'unavailable' });
  expect(await one.last('clinic')).toBeUndefined();
  await eventually(() => one.start('clinic', user, record));
});

test.each([
  ['does_not_hold', { problems: ['The event at position 1 was changed.'] }],
  ['nothing_compared', { compared: 0 }],
])('what ends as %s is not signed', async (outcome, more) => {
  const one = verifications();
  await one.start('clinic', user, record);
  await eventually(() => expect(running).toHaveLength(1));
  running[0]?.resolve(found(more));
  await outcomeIs(one, outcome);
  expect((await one.last('clinic'))?.head).toBeUndefined();
});

test('a process without the key signs nothing; one that fails says so, and why in the log', async () => {
  const one = verifications({ key: null });
  await one.start('clinic', user, record);
  await eventually(() => expect(running).toHaveLength(1));
  running[0]?.reject(unavailable('event log', undefined, 'It is away.'));
  await outcomeIs(one, 'failed');
  expect(failures).toMatchObject([{ problem: 'It is away.' }]);
  await eventually(() => one.start('clinic', user, record));
  await eventually(() => expect(running).toHaveLength(2));
  running[1]?.resolve(found());
  await outcomeIs(one, 'holds');
  expect((await one.last('clinic'))?.head).toBeUndefined();
});

test('a stop ends it, and says so', async () => {
  const one = verifications();
  await one.start('clinic', user, record);
  await eventually(() => expect(running).toHaveLength(1));
  await one.close();
  expect(await verifications().last('clinic')).toMatchObject({ outcome: 'stopped', events: 7 });
  expect(failures).toEqual([]);
  await expect(one.start('clinic', user, record)).rejects.toMatchObject({ code: 'conflict' });
});

const MINUTE_MS = 60_000;

test.each([
  ['a minute ago', -MINUTE_MS],
  ['by a clock that was ahead', 60 * MINUTE_MS],
])(
  'one whose process was killed %s is cut off, and does not stand in the way of the next',
  async (_when, ms) => {
    const long = new Date(Date.now() + ms).toISOString();
    const body = {
      ...{ workspace: 'clinic', asked_by: user, started_at: long, updated_at: long },
      ...{ position: 1, until: 9, events: 1 },
    };
    await stateStore.save(verificationTable, [
      { id: 'clinic', partition: 'clinic', order: 0, revision: 5, body },
    ]);
    const one = verifications();
    expect(await one.last('clinic')).toMatchObject({ outcome: 'stopped', ended_at: long });
    await one.start('clinic', user, record);
    expect((await one.last('clinic'))?.outcome).toBeUndefined();
  },
);

test('a state store that is away for a while does not cost the result', async () => {
  let isAway = false;
  const swap: StateStore['swap'] = (...args) =>
    isAway ? Promise.reject(unavailable('state store')) : stateStore.swap(...args);
  const store = withFaults(stateStore, { swap });
  const one = verifications({ store });
  await one.start('clinic', user, record);
  await eventually(() => expect(running).toHaveLength(1));
  isAway = true;
  running[0]?.resolve(found());
  await expect(one.start('clinic', user, record)).rejects.toMatchObject({ code: 'conflict' });
  isAway = false;
  await outcomeIs(one, 'holds');
});

test('who reads that one has ended begins the next, though the store was slow to say that it took the end', async () => {
  const late = Promise.withResolvers<void>();
  let isSlow = false;
  const swap: StateStore['swap'] = async (...args) => {
    const swapped = await stateStore.swap(...args);
    if (isSlow) await late.promise;
    return swapped;
  };
  const store = withFaults(stateStore, { swap });
  const one = verifications({ store });
  await one.start('clinic', user, record);
  await eventually(() => expect(running).toHaveLength(1));
  isSlow = true;
  running[0]?.resolve(found());
  await outcomeIs(one, 'holds');
  isSlow = false;
  await one.start('clinic', user, record);
  await eventually(() => expect(running).toHaveLength(2));
  late.resolve();
  running[1]?.resolve(found());
  await outcomeIs(one, 'holds');
});
