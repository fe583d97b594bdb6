import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { treeModel } from '../../projections/tree.ts';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { recordIdOf } from '../../src/domain/events/streams.ts';
import { UserDirectory } from '../../src/modules/auth/users.ts';
import { type Difference, verifyWorkspace } from '../../src/modules/integrity/verify.ts';
import { openReadModels } from '../../src/server/openStorage.ts';
import type { ReadModels } from '../../src/storage/readModels.ts';

import { type CliResult, runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { appendedBy, openLogFile, readAll, startTestService, type TestService } from '../support/service.ts';
import { makeUser } from '../support/users.ts';

const LONG_MS = 60_000;
const PAYERS = 150;
const FLIPS = 60;

const folder = temporaryFolder();
let service: TestService;
let readModels: ReadModels;
let events: RecordedEvent[];
let db: DatabaseSync;

beforeAll(async () => {
  service = await startTestService();
  const payers = Array.from({ length: PAYERS }, samples.payer);
  for (const payer of payers) await service.post('/integration/payers', payer);
  readModels = await openReadModels(service.config.readModelUrl);
  db = openLogFile(service);
}, LONG_MS);
afterAll(async () => {
  db.close();
  await readModels.close();
  await service.stop();
});
beforeEach(async () => {
  await projected();
  const all = await readAll(service.eventLog);
  events = all.filter(({ metadata }) => metadata.workspace === clinic());
});

const clinic = () => service.workspaceId('clinic');
const cli = (...args: string[]): Promise<CliResult> =>
  runCli(args, { env: { ...storesOf(service.config), DATA_DIR: folder } });

async function projected() {
  const head = await service.eventLog.head();
  await eventually(
    async () => expect(await readModels.checkpoint(treeModel)).toBeGreaterThanOrEqual(head),
    LONG_MS,
  );
}

const difference = async () =>
  (await verifyWorkspace({ eventLog: service.eventLog, readModels }, clinic(), {})).difference;

const at = (index: number) => events.at(index) as RecordedEvent;

/** Runs `work` while the columns of a stored event are others. */
async function withRow<Result>(
  { position }: RecordedEvent,
  columns: Record<string, string | number | Uint8Array>,
  work: () => Promise<Result>,
): Promise<Result> {
  const names = Object.keys(columns);
  const row = db.prepare(`SELECT ${names.join()} FROM events WHERE position = ?`).get(position);
  const set = db.prepare(`UPDATE events SET ${names.map((name) => `${name} = ?`).join()} WHERE position = ?`);
  set.run(...Object.values(columns), position);
  try {
    return await work();
  } finally {
    set.run(...(Object.values(row ?? {}) as (string | number | Uint8Array)[]), position);
  }
}

function named(what: Difference['what'], event: RecordedEvent): Difference {
  const { position, id, stream, revision } = event;
  return { what, position, eventId: id, stream, version: revision + 1 };
}

/** The bytes of a column with one bit of one byte turned. */
function flipped(event: RecordedEvent, column: 'data' | 'metadata', byte?: number): string | Buffer {
  const { stored } = db
    .prepare(`SELECT ${column} AS stored FROM events WHERE position = ?`)
    .get(event.position) as { stored: string | Uint8Array };
  const bytes = Buffer.from(stored);
  const index = byte ?? randomInt(bytes.length);
  bytes[index] = (bytes[index] as number) ^ (1 << randomInt(5));
  return typeof stored === 'string' ? bytes.toString('latin1') : bytes;
}

test('a changed value of one stored event makes verify name that event, and no other', async () => {
  const event = at(80);
  const data = JSON.stringify(event.data).replace(/.("})$/, '~$1');
  const { code, stdout, stderr } = await withRow(event, { data }, () =>
    cli('verify', '--workspace', clinic()),
  );
  expect({ code, stdout, stderr }).toEqual({
    code: 1,
    stdout: '',
    stderr: `The event at position ${event.position} was changed: stream ${event.stream}, version 1, event ${event.id}.\n`,
  });
  expect((await cli('verify', '--workspace', clinic())).code).toBe(0);
});

test('the events of users, which are of no workspace, are verified too', async () => {
  const users = await UserDirectory.open(service.eventLog);
  for (const name of ['ada', 'grace'])
    await makeUser(users, { name, role: 'viewer', password: phi('correct horse battery') });
  users.close();
  await projected();
  const ofUsers = (await readAll(service.eventLog)).filter(({ stream }) => stream === 'users');
  const [event] = ofUsers.slice(-2) as [RecordedEvent];
  for (const member of ['"user_id"', '"name"']) {
    const at = JSON.stringify(event.data).indexOf(member) + 1;
    await withRow(event, { data: flipped(event, 'data', at) }, async () => {
      const { code, stderr } = await cli('verify', '--workspace', '*');
      expect(code).toBe(1);
      expect(stderr).toContain(`stream users, version ${event.revision + 1}, event ${event.id}.`);
    });
  }
  await withRow(event, { data: JSON.stringify({ ...event.data, name: undefined }) }, async () => {
    const { code, stderr } = await cli('users', 'list');
    expect(code).toBe(1);
    expect(stderr).toContain(`version ${event.revision + 1} in the stream users is damaged`);
  });
  const appended = await appendedBy(service, async () => {
    const { code, stdout } = await cli('verify', '--workspace', '*');
    expect(code).toBe(0);
    expect(Number(/^(\d+) events verified/.exec(stdout)?.[1])).toBeGreaterThanOrEqual(ofUsers.length);
  });
  expect(appended).toEqual([]);
  expect((await cli('records', 'history', 'patient', 'x', '--workspace', '*')).code).toBe(1);
});

test(
  'whichever byte of its data or metadata is flipped, that event is named, unless its JSON says the same',
  async () => {
    const results: Difference['what'][] = ['changed', 'unreadable', 'misplaced'];
    for (let n = 0; n < FLIPS; n++) {
      const event = at(randomInt(events.length));
      const column = n % 3 === 0 ? 'metadata' : 'data';
      const found = await withRow(event, { [column]: flipped(event, column) }, difference);
      expect(results.map((what) => named(what, event))).toContainEqual(found);
    }
  },
  LONG_MS,
);

test('a change of what the metadata of events have in common is one of each of them; the first is named, and none is proved', async () => {
  const proof = () => service.get(`/integration/payers/${recordIdOf(at(80).stream)}/history/1/proof`);
  expect((await proof()).status).toBe(200);
  const number = 'hex(substr(metadata, 1, 4))';
  const { position, template } = db
    .prepare(
      `SELECT min(position) AS position, ${number} AS template FROM events
       WHERE ${number} = (SELECT ${number} FROM events WHERE position = ?)`,
    )
    .get(at(80).position) as { position: number; template: string };
  const id = Number.parseInt(template, 16);
  const row = db.prepare('SELECT text FROM metadata_templates WHERE id = ?').get(id);
  const text = String(row?.text);
  const set = db.prepare('UPDATE metadata_templates SET text = ? WHERE id = ?');
  set.run(text.replace('"principal":{"id":"', '"principal":{"id":"x'), id);
  try {
    const first = events.find((event) => event.position === position) as RecordedEvent;
    expect(await difference()).toEqual(named('changed', first));
    const { status, body } = await proof();
    expect([status, body.code, body.error]).toEqual([
      409,
      'conflict',
      expect.stringContaining('This event differs between the hash tree and the event log'),
    ]);
  } finally {
    set.run(text, id);
  }
  expect((await proof()).status).toBe(200);
});

/** An event that was removed. */
function missing({ position, id }: RecordedEvent): Difference {
  return { what: 'missing', position, eventId: id };
}

test('an event that is no JSON any more is named too, parked by a rebuild, and stops no projection', async () => {
  const event = at(40);
  await withRow(event, { data: '{"id":' }, async () => {
    expect(await difference()).toEqual(named('unreadable', event));
    const fresh = await openReadModels(`sqlite:${join(folder, 'fresh.db')}`);
    const args = ['projections', 'rebuild', '--json', '--accept-fewer'];
    const env = { ...storesOf(service.config), READ_MODEL_URL: `sqlite:${join(folder, 'fresh.db')}` };
    const rebuilt = JSON.parse((await runCli(args, { env })).stdout);
    expect(rebuilt).toContainEqual(expect.objectContaining({ model: treeModel, parked: 1 }));
    expect(await fresh.parked(treeModel)).toEqual([
      { position: event.position, eventId: event.id, reason: 'DamagedEvent' },
    ]);
    await fresh.close();
  });
});

test('every other part of an event counts as well', async () => {
  const event = at(70);
  const stream = db
    .prepare('SELECT stream_id FROM events WHERE position = ?')
    .get(at(90).position)?.stream_id;
  const parts: [Record<string, string | number | Uint8Array>, Partial<Difference>][] = [
    [{ type: 'PayerUpsertee' }, {}],
    [{ recorded_at: Date.parse(event.recordedAt) - 1 }, {}],
    [{ recorded_at: 9e15 }, { what: 'unreadable' }],
    [{ event_id: Buffer.from(at(71).id.replaceAll('-', ''), 'hex') }, {}],
    [{ revision: 7 }, { version: 8 }],
    [
      { stream_id: stream as number, revision: 1 },
      { stream: at(90).stream, version: 2 },
    ],
  ];
  for (const [columns, changes] of parts) {
    const found = await withRow(event, columns, difference);
    expect(found).toEqual({ ...named('changed', event), ...changes });
  }
});

test('an event that was taken out, or put in, is named', async () => {
  const event = at(60);
  const row = db.prepare('SELECT * FROM events WHERE position = ?').get(event.position) ?? {};
  db.prepare('DELETE FROM events WHERE position = ?').run(event.position);
  expect(await difference()).toEqual(missing(event));
  const names = Object.keys(row);
  const insert = db.prepare(`INSERT INTO events (${names.join()}) VALUES (${names.map(() => '?').join()})`);
  insert.run(...(Object.values(row) as (string | number)[]));
  expect(await difference()).toBeUndefined();
});

test('a removed last event is noticed by the read model, and without it against a signed head', async () => {
  const saved = join(folder, 'head.json');
  expect((await cli('verify', '--workspace', clinic(), '--save-head', saved)).code).toBe(0);
  await projected();
  const [last] = (await readAll(service.eventLog)).slice(-1) as [RecordedEvent];
  db.prepare('DELETE FROM events WHERE position = ?').run(last.position);
  expect(await difference()).toEqual(missing(last));

  const READ_MODEL_URL = `sqlite:${join(folder, 'anew.db')}`;
  const env = { ...storesOf(service.config), DATA_DIR: folder, READ_MODEL_URL };
  await runCli(['projections', 'rebuild', 'tree'], { env });
  const without = await runCli(['verify', '--workspace', clinic()], { env });
  expect(without).toMatchObject({ code: 0, stderr: '' });
  const against = await runCli(['verify', '--workspace', clinic(), '--head', saved], { env });
  expect(against).toMatchObject({ code: 1, stdout: '' });
  expect(against.stderr).toMatch(
    /^The log does not match the head that was signed at \S+: its first \d+ events are not those that were signed\.\n$/,
  );
});
