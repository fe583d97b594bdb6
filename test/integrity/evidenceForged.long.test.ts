import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse as parseUuid, v7 as uuidv7 } from 'uuid';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { treeModel } from '../../projections/tree.ts';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { openReadModels } from '../../src/server/openStorage.ts';

import { type CliResult, runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { samples } from '../support/samples.ts';
import { openLogFile, readAll, startTestService, type TestService } from '../support/service.ts';

const HOUR_MS = 3_600_000;

const folder = temporaryFolder();
let service: TestService;
beforeEach(async () => {
  service = await startTestService();
  for (let n = 0; n < 5; n++) await service.post('/integration/payers', samples.payer());
  await projectedToEnd();
});
afterEach(() => service.stop());

const saved = join(folder, 'head.json');
const verify = (...args: string[]): Promise<CliResult> =>
  runCli(['verify', '--workspace', service.workspaceId('clinic'), ...args], {
    env: { ...storesOf(service.config), DATA_DIR: folder },
  });

/** Writes an event into the file as one would who has no service to do it, and waits until it is projected. */
async function forge({
  id = uuidv7(),
  recordedAt,
}: {
  id?: string;
  recordedAt: string;
}): Promise<RecordedEvent> {
  const db = openLogFile(service);
  const last = db.prepare('SELECT * FROM events ORDER BY position DESC LIMIT 1').get() ?? {};
  const stream = `${service.workspaceId('clinic')}.payer-forged-${uuidv7()}`;
  const { lastInsertRowid } = db.prepare('INSERT INTO streams (name) VALUES (?)').run(stream);
  db.prepare(
    `INSERT INTO events (stream_id, revision, event_id, type, recorded_at, metadata, data)
     VALUES (?, 0, ?, 'PayerUpserted', ?, ?, '{"id":"forged","name":"Forged"}')`,
  ).run(lastInsertRowid, parseUuid(id), Date.parse(recordedAt), last.metadata ?? '');
  db.close();
  await projectedToEnd();
  return (await readAll(service.eventLog)).at(-1) as RecordedEvent;
}

/** Resolves when the tree has all that the log holds by now: what is compared does not hang on how busy a machine is. */
async function projectedToEnd(): Promise<void> {
  const readModels = await openReadModels(service.config.readModelUrl);
  const head = await service.eventLog.head();
  await eventually(async () => expect(await readModels.checkpoint(treeModel)).toBeGreaterThanOrEqual(head));
  await readModels.close();
}

const named = ({ position, stream, id }: RecordedEvent, what: string) =>
  `The event at position ${position} ${what}: stream ${stream}, version 1, event ${id}.\n`;

test('an event behind a signed head that claims to be older than it is named', async () => {
  expect((await verify('--save-head', saved)).code).toBe(0);
  const head = JSON.parse(readFileSync(saved, 'utf8'));
  const last = (await readAll(service.eventLog)).find(({ id }) => id === head.last_event_id);
  expect(head.last_event_recorded_at).toBe(last?.recordedAt);
  const recordedAt = new Date(Date.parse(head.last_event_recorded_at) - HOUR_MS).toISOString();
  const event = await forge({ recordedAt });
  const what = `claims to have been recorded at ${recordedAt}, before the signed head's last event (${head.last_event_recorded_at}), but was not in the head`;
  expect(await verify('--head', saved)).toEqual({ code: 1, stdout: '', stderr: named(event, what) });
});

test('without a head, a time that falls is named in a remark', async () => {
  const before = (await readAll(service.eventLog)).at(-1)?.recordedAt ?? '';
  const recordedAt = new Date(Date.parse(before) - 1).toISOString();
  const event = await forge({ recordedAt });
  const remark = named(
    event,
    `claims to have been recorded at ${recordedAt}, before the preceding event (${before})`,
  );
  const verified = await verify();
  expect(verified).toMatchObject({ code: 0, stderr: '' });
  expect(verified.stdout).toContain(
    `Remark: Events whose times go backwards, as happens when a clock is set back or the leader changes: 1. The first: ${remark}`,
  );
});

test('an id that another event has is named', async () => {
  const first = (await readAll(service.eventLog)).find(({ type }) => type === 'PayerUpserted');
  const event = await forge({ id: first?.id ?? '', recordedAt: new Date().toISOString() });
  const { code, stderr } = await verify();
  expect({ code, stderr }).toEqual({ code: 1, stderr: named(event, 'has the id of an earlier event') });
});

test('with nothing to compare with, the exit code is 3', async () => {
  const env = {
    ...storesOf(service.config),
    DATA_DIR: folder,
    READ_MODEL_URL: `sqlite:${join(folder, 'empty.db')}`,
  };
  const args = ['verify', '--workspace', service.workspaceId('clinic')];
  const { code, stdout, stderr } = await runCli(args, { env });
  expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
  expect(stderr).toMatch(
    /^Nothing was compared: there is no --head, and the read model has no tree yet\. \d+ events/,
  );
  const asJson = await runCli([...args, '--json'], { env });
  expect(asJson.code).toBe(3);
  expect(JSON.parse(asJson.stdout)).toMatchObject({ outcome: 'nothing_compared', log: { compared: 0 } });
  expect((await verify('--save-head', saved)).code).toBe(0);
  const against = await runCli([...args, '--head', saved], { env });
  expect(against).toMatchObject({ code: 0, stderr: '' });
});
