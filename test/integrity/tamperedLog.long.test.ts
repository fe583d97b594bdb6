import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, expect, test } from 'vitest';
import { projections } from '../../projections/index.ts';
import { recordsModel } from '../../projections/records.ts';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { KEYS_STREAM, USERS_STREAM, WEBHOOKS_STREAM } from '../../src/domain/events/streams.ts';
import { KeyDirectory } from '../../src/modules/auth/keyDirectory.ts';
import { UserDirectory } from '../../src/modules/auth/users.ts';
import { signTreeHead, type TreeHead } from '../../src/modules/integrity/publicKeys.ts';
import { generateSigningKey, parseSigningKey } from '../../src/modules/integrity/signing.ts';
import { readWorkspace, verifyWorkspace } from '../../src/modules/integrity/verify.ts';
import { ownTarget, project } from '../../src/modules/projections/projector.ts';
import { WebhookDirectory } from '../../src/modules/webhooks/webhook.ts';
import { UnreadableError } from '../../src/platform/errors.ts';
import { openEventLog, openReadModels } from '../../src/server/openStorage.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';

import { temporaryFolder } from '../support/cli.ts';
import { samples, TestWorkspace } from '../support/samples.ts';

const LONG_MS = 240_000;
const TRIALS = 250;
const SEED = 0x5eed;
const MONTH_MS = 30 * 86_400_000;

const folder = temporaryFolder();
const workspaces = ['alpha', 'beta', '*'];
const signingKey = { privateKey: parseSigningKey(generateSigningKey()), rotations: [] };
const pristine = join(folder, 'events.db');
let heads: Map<string, TreeHead>;
let served: Served;

/** What callers and the service itself are given of the workspaces; what is refused as unreadable is not served. */
type Served = Record<string, unknown>;

beforeAll(async () => {
  const log = await openEventLog(`sqlite:${pristine}`);
  await fill(log);
  heads = await headsOf(log);
  await log.close();
  const db = new DatabaseSync(pristine);
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  served = await servedBy(pristine, 0);
}, LONG_MS);

async function fill(log: EventLog): Promise<void> {
  const add = (owner: string, stream: string, type: string, data: object) =>
    log.append(stream, new TestWorkspace(owner).event({ ...data }, type), 'any');
  await add('*', USERS_STREAM, 'UserCreated', { user_id: 'u1', name: 'ada', role: 'administrator' });
  for (const owner of ['alpha', 'beta']) {
    const key = { key_id: `key-${owner}`, name: 'EMR', permissions: ['write'], sha256: `hash-${owner}` };
    const hook = { webhook_id: `wh-${owner}`, url: `https://${owner}.example`, payload: 'full' };
    await add(owner, KEYS_STREAM, 'WorkspaceCreated', { workspace: owner });
    await add(owner, KEYS_STREAM, 'ApiKeyCreated', key);
    await add(owner, KEYS_STREAM, 'ApiKeyLimitsSet', { key_id: key.key_id, networks: ['10.0.0.0/8'] });
    await add(owner, WEBHOOKS_STREAM, 'WebhookCreated', { ...hook, start_after: 0, sealed_secret: 's' });
    for (const id of ['p1', 'p2'])
      for (const city of ['Omaha', 'Lincoln'])
        await add(owner, `${owner}.payer-${id}`, 'PayerUpserted', { ...samples.payer(), id, city });
  }
  await add('*', USERS_STREAM, 'UserPasswordSet', { user_id: 'u1', password: { hash: 'h' } });
}

async function headsOf(log: EventLog): Promise<Map<string, TreeHead>> {
  const found = new Map<string, TreeHead>();
  for (const workspace of workspaces) {
    const { tree, lastEvent, difference } = await verify(log, workspace, []);
    expect(difference).toBeUndefined();
    found.set(workspace, signTreeHead(workspace, tree, lastEvent, signingKey));
  }
  return found;
}

async function verify(eventLog: EventLog, workspace: string, known: TreeHead[]) {
  // Without rows, as after a rebuild: the heads are all that is left to compare the log with.
  const readModels = await openReadModels(`sqlite:${join(folder, 'none.db')}`);
  try {
    return await verifyWorkspace({ eventLog, readModels }, workspace, { heads: known });
  } finally {
    await readModels.close();
  }
}

/** Whether the verification of some workspace names anything, or reports events that its head does not cover. */
async function isNamed(log: EventLog): Promise<boolean> {
  for (const workspace of workspaces) {
    const head = heads.get(workspace) as TreeHead;
    const { difference, headProblem, oddities, tree } = await verify(log, workspace, [head]);
    const odd = Object.values(oddities).some(({ count }) => count > 0);
    if (difference || headProblem || odd || tree.size > head.size) return true;
  }
  return false;
}

async function servedBy(path: string, trial: number): Promise<Served> {
  const log = await openEventLog(`sqlite:${path}`);
  const readModels = await openReadModels(`sqlite:${join(folder, `models-${trial}.db`)}`);
  try {
    return { ...(await state(log)), ...(await histories(log)), ...(await lists(log, readModels)) };
  } finally {
    await Promise.all([log.close(), readModels.close()]);
  }
}

async function unlessUnreadable(work: () => Promise<unknown>): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UnreadableError) return 'unreadable';
    throw error;
  }
}

async function state(log: EventLog): Promise<Served> {
  const directories = {
    keys: () => KeyDirectory.open(log),
    webhooks: () => WebhookDirectory.open(log),
    users: () => UserDirectory.open(log),
  };
  const known: Served = {};
  for (const [name, open] of Object.entries(directories)) {
    known[name] = await unlessUnreadable(async () => {
      const directory = await open();
      directory.close();
      if ('all' in directory) return directory.all().filter((one) => !isGhost(one));
      const { keys, workspaces: all } = directory.known;
      return [...keys.values(), ...all.values()].filter((one) => !isGhost(one));
    });
  }
  return known;
}

/** Nothing is known of a workspace without a head. */
const isGhost = (one: object) => ('workspace' in one ? one.workspace : 'id' in one && one.id) === 'ghost';

/** The feed of each workspace and its exports, and the history of each record; positions belong to the store. */
async function histories(log: EventLog): Promise<Served> {
  const found: Served = {};
  const until = await log.head();
  for (const workspace of workspaces) {
    const feed: RecordedEvent[] = [];
    for await (const { events } of readWorkspace(log, workspace, { after: 0, until })) feed.push(...events);
    found[`feed of ${workspace}`] = feed.map(withoutPlace);
    for (const stream of new Set(feed.map((event) => event.stream)))
      found[stream] = await unlessUnreadable(async () =>
        (await log.readStream(stream, { limit: 100 }))
          .filter(({ metadata }) => metadata.workspace === workspace)
          .map(withoutPlace),
      );
  }
  return found;
}

const withoutPlace = ({ position: _, dataText: _d, metadataText: _m, ...event }: RecordedEvent) => event;

async function lists(eventLog: EventLog, readModels: Awaited<ReturnType<typeof openReadModels>>) {
  const ports = { eventLog, readModels, onParked: () => undefined };
  const targets = projections.map(ownTarget);
  await project(targets, ports, AbortSignal.timeout(LONG_MS), ({ caughtUp }) => caughtUp);
  const found: Served = {};
  for (const workspace of ['alpha', 'beta'])
    for (const kind of ['payer', 'patient']) {
      const page = { partition: `${workspace}.${kind}`, after: -1, limit: 100 };
      const rows = await readModels.page(recordsModel, page);
      found[page.partition] = rows.map(({ id, body }) => ({ id, body }));
    }
  return found;
}

/** Numbers from a fixed seed (mulberry32). */
function dice(seed: number): (sides: number) => number {
  let at = seed;
  return (sides) => {
    at = (at + 0x6d2b79f5) | 0;
    let mixed = Math.imul(at ^ (at >>> 15), at | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides;
  };
}

type Stored = Record<string, string | number | Uint8Array | null>;

/** Does to the rows of a log's file what the service never does, with what it knows of the file's form. */
class Tampering {
  readonly #db: DatabaseSync;
  readonly #roll: (sides: number) => number;

  constructor(path: string, roll: (sides: number) => number) {
    this.#db = new DatabaseSync(path);
    this.#roll = roll;
  }

  close(): void {
    this.#db.close();
  }

  /** Returns what was done. */
  apply(): string {
    const ways = [this.putIn, this.putIn, this.change, this.move, this.rename, this.takeOut];
    return this.#pick(ways).call(this);
  }

  putIn(): string {
    const like = this.#event();
    const streams = [
      'alpha.payer-p1',
      'alpha.payer-p3',
      'alpha.patient-p1',
      'beta.payer-p2',
      'ghost.payer-p1',
    ];
    const stream = this.#pick([...streams, 'notes', 'users2', KEYS_STREAM, WEBHOOKS_STREAM, USERS_STREAM]);
    const owner = this.#pick(['alpha', 'beta', 'ghost', '*']);
    const id = this.#streamId(stream);
    const { next } = this.#one('SELECT count(*) AS next FROM events WHERE stream_id = ?', id);
    const { last } = this.#one('SELECT max(position) AS last FROM events');
    let position = Number(last) + 1;
    if (this.#roll(3) === 0) {
      position = 1 + this.#roll(Number(last));
      this.#db.exec(`UPDATE events SET position = -position - 1 WHERE position >= ${position};
        UPDATE events SET position = -position WHERE position < 0;`);
    }
    const metadata = JSON.stringify({ ...new TestWorkspace(owner).event().metadata });
    const at = Date.now() - (this.#roll(4) === 0 ? -MONTH_MS : MONTH_MS);
    const about = this.#pick(['alpha', 'beta']);
    const data = JSON.stringify({
      ...JSON.parse(String(like.data)),
      ...(stream === KEYS_STREAM && { key_id: `key-${about}` }),
      ...(stream === WEBHOOKS_STREAM && { webhook_id: `wh-${about}`, url: 'https://attacker.example' }),
    });
    this.#db
      .prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)')
      .run(position, id, Number(next), randomId(this.#roll), String(like.type), at, metadata, data);
    return `${like.type} of ${owner} in ${stream} at ${position}, recorded ${new Date(at).toISOString()}`;
  }

  change(): string {
    const { position, data, recorded_at } = this.#event();
    const owner = this.#pick(['alpha', 'beta', 'ghost', '*']);
    const changes: Stored = {
      data: String(data).replace(/[a-z]"/, '~"'),
      metadata: JSON.stringify({ ...new TestWorkspace(owner).event().metadata }),
      type: this.#pick(['PayerUpserted', 'RecordErased', 'ApiKeyDeleted']),
      recorded_at: Number(recorded_at) - MONTH_MS,
      revision: 7,
      event_id: randomId(this.#roll),
      leaf: 'ab'.repeat(32),
    };
    const column = this.#pick(Object.keys(changes));
    const value = changes[column] as string;
    this.#db.prepare(`UPDATE events SET ${column} = ? WHERE position = ?`).run(value, Number(position));
    return `${column} at ${position} became ${String(value)}`;
  }

  move(): string {
    const { position } = this.#event();
    if (this.#roll(2) === 0) {
      const { position: other } = this.#event();
      const set = this.#db.prepare('UPDATE events SET position = ? WHERE position = ?');
      set.run(0, Number(position));
      set.run(Number(position), Number(other));
      set.run(Number(other), 0);
      return `${position} and ${other} changed places`;
    }
    const stream = this.#pick(['alpha.payer-p4', 'alpha.payer-p1', 'beta.payer-p1', 'notes', KEYS_STREAM]);
    const id = this.#streamId(stream);
    const { next } = this.#one('SELECT count(*) AS next FROM events WHERE stream_id = ?', id);
    this.#db
      .prepare('UPDATE events SET stream_id = ?, revision = ? WHERE position = ?')
      .run(id, Number(next), Number(position));
    return `${position} went to ${stream}`;
  }

  rename(): string {
    const { stream_id } = this.#event();
    const name = this.#pick(['alpha.payer-p5', 'beta.payer-p5', 'ghost.payer-p5', 'notes', 'users2']);
    this.#db.prepare('UPDATE streams SET name = ? WHERE id = ?').run(name, Number(stream_id));
    return `a stream became ${name}`;
  }

  takeOut(): string {
    const { position, stream_id } = this.#event();
    const where = this.#pick([
      `position = ${position}`,
      `position > ${position}`,
      `stream_id = ${stream_id}`,
    ]);
    this.#db.exec(`DELETE FROM events WHERE ${where}`);
    return `taken out: ${where}`;
  }

  #event(): Stored {
    const rows = this.#db.prepare('SELECT * FROM events ORDER BY position').all();
    return this.#pick(rows as Stored[]);
  }

  #streamId(name: string): number {
    this.#db.prepare('INSERT OR IGNORE INTO streams (name) VALUES (?)').run(name);
    return Number(this.#one('SELECT id FROM streams WHERE name = ?', name).id);
  }

  #one(sql: string, ...values: (string | number)[]): Stored {
    return this.#db.prepare(sql).get(...values) as Stored;
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[this.#roll(items.length)] as Item;
  }
}

/** A UUID (version 7) as stored. */
function randomId(roll: (sides: number) => number): Uint8Array {
  const bytes = Uint8Array.from({ length: 16 }, () => roll(256));
  bytes[6] = 0x70 | (Number(bytes[6]) & 0x0f);
  bytes[8] = 0x80 | (Number(bytes[8]) & 0x3f);
  return bytes;
}

test(
  'whatever is put in, changed, moved or taken out, verification with heads names it, or what is served is the same',
  async () => {
    const roll = dice(SEED);
    let named = 0;
    for (let trial = 1; trial <= TRIALS; trial += 1) {
      const path = join(folder, `trial-${trial}.db`);
      copyFileSync(pristine, path);
      const tampering = new Tampering(path, roll);
      const done = tampering.apply();
      tampering.close();
      const log = await openEventLog(`sqlite:${path}`);
      const isFound = await isNamed(log);
      await log.close();
      if (isFound) named += 1;
      else expect({ done, ...(await servedBy(path, trial)) }).toEqual({ done, ...served });
    }
    expect(named).toBeGreaterThan(TRIALS / 2);
  },
  LONG_MS,
);
