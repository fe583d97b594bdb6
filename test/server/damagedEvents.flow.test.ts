import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { documentsModel, recordsModel } from '../../projections/records.ts';
import { returnStream } from '../../src/domain/events/streams.ts';
import { patient as patientKind } from '../../src/domain/records/kinds/patient.ts';
import { changesList, recordedPage } from '../../src/modules/audit/changes.ts';
import { eraseRecord } from '../../src/modules/erasure/erase.ts';
import { verifyWorkspace } from '../../src/modules/integrity/verify.ts';
import type { ChangedRecord } from '../../src/modules/records/queries/changes.ts';
import type { Page } from '../../src/modules/records/queries/paging.ts';
import { openReadModels } from '../../src/server/openStorage.ts';

import { hl7Message } from '../integrations/hl7Messages.ts';
import { linesAsked, nextMoment } from '../support/asOf.ts';
import { runInWorkspace } from '../support/cli.ts';
import { answerOf, BATCH, type TestResponse } from '../support/client.ts';
import { signedIn } from '../support/dashboard.ts';
import { eraserIn, openErasurePorts } from '../support/erasure.ts';
import { eventually } from '../support/eventually.ts';
import { eventsOf } from '../support/log.ts';
import {
  createEncounter,
  documentForm,
  documentsPath,
  pathOf,
  paths,
  samples,
  TestWorkspace,
} from '../support/samples.ts';
import {
  appendedBy,
  chartledgerOf,
  errorOf,
  openLogFile,
  startTestService,
  type TestService,
} from '../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

/** Spoils the stored bytes of an event, and has the read models built again from what is left. */
async function damage(stream: string, revision: number): Promise<void> {
  await service.restart(async () => {
    const db = openLogFile(service);
    const { changes } = db
      .prepare(
        "UPDATE events SET data = '{' WHERE revision = ? AND stream_id = (SELECT id FROM streams WHERE name = ?)",
      )
      .run(revision, stream);
    db.close();
    expect(changes).toBe(1);
    const readModels = await openReadModels(service.config.readModelUrl);
    for (const model of [recordsModel, documentsModel]) await readModels.drop(model);
    await readModels.close();
  });
}

const list = (path: string) =>
  eventually(async () => {
    const { status, body } = await service.get(`${path}?limit=1000`);
    expect(status).toBe(200);
    return body;
  });

/** An answer that is no reason to ask again, and says how to find out why. */
function expectFinal({ status, headers, body }: TestResponse): void {
  expect([status, body.code, headers['retry-after']]).toEqual([500, 'internal', undefined]);
  expect(body.error).toContain('chartledger verify --workspace ID');
}

test('a record with a damaged version is refused, named by lists, and still takes versions', async () => {
  const [sound, damaged] = [samples.payer(), samples.payer()];
  for (const payer of [damaged, sound]) await service.post(paths.payer, payer);
  for (const city of ['Omaha', 'Lincoln']) await service.post(paths.payer, { ...damaged, city });
  await damage(`${service.workspaceId('clinic')}.payer-${damaged.id}`, 1);

  const path = pathOf('payer', damaged.id);
  for (const suffix of ['', '/history', '?version=2', '?version=3', '?as_of=2999-01-01']) {
    expectFinal(await service.get(path + suffix));
  }
  const appendedByRefusals = await appendedBy(service, async () => {
    expectFinal(await service.patch(path, { city: 'Omaha' }));
    const lines = [{ kind: 'payer', record: damaged }];
    const [line] = answerOf(await service.post(`${BATCH}?dry_run=true`, lines)).results;
    expect(line).toMatchObject({ status: 500, code: 'internal', retryable: false });
    expect(line).not.toHaveProperty('retryAfter');
  });
  expect(appendedByRefusals).toEqual([]);
  expect((await service.get(`${path}?version=1`)).body.record).toMatchObject(damaged);
  expect(await list(paths.payer)).toMatchObject({ items: [{ id: sound.id }], unreadable: [damaged.id] });
  const read: string[] = [];
  const readAll = async () => {
    for await (const { id } of chartledgerOf(service).payers.list({ limit: 1 })) read.push(id);
  };
  expect(await errorOf(readAll())).toMatchObject({ code: 'unreadable', unreadable: [damaged.id] });
  expect(read).toEqual([sound.id]);
  const appended = await appendedBy(service, async () => {
    expect((await service.post(paths.payer, damaged)).body.version).toBe(4);
  });
  expect(appended).toEqual([`clinic.payer-${damaged.id}: PayerUpserted`]);
  expect(await list(paths.payer)).toMatchObject({ items: [{ id: sound.id }], unreadable: [damaged.id] });

  const { key } = await service.createKey('clinic', ['events']);
  const told = eventsOf(await service.as(key).get('/events?kinds=payer&limit=1000'));
  expect(told.map(({ subject, data }) => [subject, data.version])).toEqual([
    [`payer/${encodeURIComponent(damaged.id)}`, 1],
    [`payer/${encodeURIComponent(sound.id)}`, 1],
  ]);
});

test('a message about a patient with a damaged version is refused, and not held up', async () => {
  const patient = samples.patient();
  await service.post(paths.patient, patient);
  await service.post(paths.patient, { ...patient, first_name: 'Ada' });
  await damage(`${service.workspaceId('clinic')}.patient-${patient.id}`, 1);
  const message = hl7Message('ADT^A08', [['PID', { 3: String(patient.id), 5: 'Byron^Ada', 7: '19840229' }]]);
  const appended = await appendedBy(service, async () => {
    const headers = { 'content-type': 'application/hl7-v2' };
    const { status, text } = await service.send('/hl7/v2', { method: 'POST', body: message, headers });
    expect(status).toBe(200);
    expect(text).toContain('MSA|AE|C-1');
    expect(text).toContain('chartledger verify');
  });
  expect(appended).toEqual([]);
});

test('a document with a damaged version is named by the list of its encounter', async () => {
  const encounter = await createEncounter(service);
  const [sound, damaged] = [documentForm(), documentForm()];
  for (const form of [damaged, damaged, sound]) await service.upload(documentsPath(encounter), form);
  const idOf = (form: FormData) => form.get('document_id') as string;
  const pair = encodeURIComponent(`${encodeURIComponent(encounter)}/${encodeURIComponent(idOf(damaged))}`);
  await damage(`${service.workspaceId('clinic')}.document-${pair}`, 0);
  expect(await list(documentsPath(encounter))).toMatchObject({
    items: [{ document_id: idOf(sound) }],
    unreadable: [idOf(damaged)],
  });
  const history = await service.get(`${documentsPath(encounter, idOf(damaged))}/history`);
  expectFinal(history);
});

test('an event of another workspace in the stream of a record is not served, and verify names it', async () => {
  const payer = samples.payer();
  const workspace = service.workspaceId('forged');
  const { key } = await service.createKey('forged', ['write', 'read', 'events']);
  await service.as(key).post(paths.payer, payer);
  const stream = `${workspace}.payer-${payer.id}`;
  const forged = new TestWorkspace(service.workspaceId('other')).event({ ...payer, name: 'Forged' });
  await service.restart(async () => {
    const db = openLogFile(service);
    const { changes } = db
      .prepare(
        `INSERT INTO events SELECT (SELECT max(position) + 1 FROM events), stream_id, revision + 1,
         unhex(replace(?, '-', '')), type, recorded_at - 2592000000, ?, ?, NULL
         FROM events WHERE stream_id = (SELECT id FROM streams WHERE name = ?)`,
      )
      .run(forged.id, JSON.stringify(forged.metadata), JSON.stringify(forged.data), stream);
    db.close();
    expect(changes).toBe(1);
  });
  const caller = service.as(key);
  await eventually(async () =>
    expect((await caller.get(paths.payer)).body).toMatchObject({ items: [], unreadable: [payer.id] }),
  );
  expectFinal(await caller.get(`${pathOf('payer', payer.id)}/history`));
  const told = eventsOf(await caller.get('/events?kinds=payer&limit=1000'));
  expect(told.map(({ data }) => data.sent.name)).toEqual([payer.name]);
  const readModels = await openReadModels(service.config.readModelUrl);
  const { difference } = await verifyWorkspace({ eventLog: service.eventLog, readModels }, workspace, {});
  await readModels.close();
  const place = { stream, version: 2, eventId: forged.id };
  expect(difference).toMatchObject({ what: 'misplaced', ...place });
});

test('changes, a comparison and the plan of an undo name a record with a damaged version, and go on with the others', async () => {
  const { id: keyId, key } = await service.createKey('clinic', ['write', 'read']);
  const [damaged, sound] = [samples.patient(), samples.patient()];
  for (const patient of [damaged, sound]) await service.as(key).post(paths.patient, patient);
  const since = await nextMoment();
  for (const patient of [damaged, sound])
    await service.as(key).post(paths.patient, { ...patient, city: 'Lincoln' });
  const until = await nextMoment();
  await damage(`${service.workspaceId('clinic')}.patient-${damaged.id}`, 1);

  const problem = `patient ${damaged.id} has an event that cannot be read.\n`;
  const change = { field: 'city', from: null, to: 'Lincoln' };
  const bySender = ['--principal', keyId, '--since', since];
  const changes = await runInWorkspace(service, 'changes', ...bySender, '--json');
  expect(changes).toMatchObject({ code: 1, stderr: problem });
  expect(JSON.parse(changes.stdout)).toMatchObject([
    { id: damaged.id, created: false, erased: false, unreadable: true, versions: [], fields: [] },
    { id: sound.id, unreadable: false, fields: [change] },
  ]);
  const csv = await runInWorkspace(service, 'changes', ...bySender);
  expect(csv.stdout).toContain(`patient,${damaged.id},,no,no,yes,`);

  const lines = await linesAsked(service.as(key), `/integration/diff?since=${since}&until=${until}`);
  expect(lines.filter(({ id }) => [damaged.id, sound.id].includes(id as string))).toEqual([
    { kind: 'patient', id: damaged.id, change: 'unreadable', fields: [] },
    expect.objectContaining({ id: sound.id, change: 'changed', fields: [expect.objectContaining(change)] }),
  ]);
  expect(lines.at(-1)).toMatchObject({ end: { records: { patient: { changed: 1, unreadable: 1 } } } });
  const diff = (from: string, to: string, format: string) =>
    runInWorkspace(service, 'diff', '--since', from, '--until', to, '--format', format);
  const table = await diff(since, until, 'table');
  expect(table).toMatchObject({ code: 1, stderr: problem });
  expect(table.stdout).toContain(`patient ${damaged.id}: unreadable`);
  expect((await diff(since, until, 'csv')).stdout).toContain(`patient,${damaged.id},,unreadable,`);

  const { visitor } = await signedIn(service, 'compliance');
  for (const page of ['', '/diff', '/diff/counts']) {
    const query = new URLSearchParams({ from: since, to: until });
    const path = `/workspaces/${service.workspaceId('clinic')}/changes${page}?${query}`;
    expect((await visitor.get(path)).text).toMatch(/unreadable/i);
  }

  const selection = ['--key', keyId, '--since', since, '--json'];
  const plan = JSON.parse((await runInWorkspace(service, 'undo', 'plan', ...selection)).stdout);
  expect(plan).toMatchObject([
    { id: damaged.id, action: 'blocked', problem: 'It has an event that cannot be read.' },
    { id: sound.id, action: 'revert' },
  ]);
});

test('pages of changes name a record with a damaged version once', async () => {
  const { id: principal, key } = await service.createKey('pages', ['write']);
  const [damaged, sound] = [samples.payer(), samples.payer()];
  for (const payer of [damaged, sound, { ...damaged, city: 'Omaha' }, { ...damaged, city: 'Lincoln' }])
    await service.as(key).post(paths.payer, payer);
  const workspace = service.workspaceId('pages');
  await damage(`${workspace}.payer-${damaged.id}`, 1);
  const readModels = await openReadModels(service.config.readModelUrl);
  const { eventLog } = service;
  const ports = { eventLog, readModels };
  const caller = { workspace, principal: { type: 'operator', id: 'root' } as const };
  const list = changesList(eventLog, { ...caller, requestId: uuidv7() }, { principal });
  const ids: string[] = [];
  for (let pageToken: string | undefined, isLast = false; !isLast; ) {
    const by = { ...caller, requestId: uuidv7() };
    const page: Page<ChangedRecord> = await recordedPage(ports, by, list, { limit: 1, pageToken });
    ids.push(...page.items.map(({ id }) => id));
    pageToken = page.next_page_token ?? undefined;
    isLast = pageToken === undefined;
  }
  expect(ids).toEqual([damaged.id, sound.id]);
  await readModels.close();
});

test('a record of whose return something is noted that cannot be read is on the list of those', async () => {
  const { key } = await service.createKey('returning', ['settings', 'audit', 'write']);
  const send = (body: object) => service.as(key).post(paths.patient, body);
  const body = JSON.stringify({ choice: 'review' });
  const headers = { 'content-type': 'application/json' };
  expect((await service.as(key).send('/integration/returned', { method: 'PUT', headers, body })).status).toBe(
    200,
  );
  const [patient, other] = [samples.patient(), samples.patient()];
  const { ports, close } = await openErasurePorts(service);
  const eraser = { ...eraserIn(service), workspace: service.workspaceId('returning') };
  for (const { id, ...fields } of [patient, other]) {
    await send({ id, ...fields });
    await eraseRecord(ports, eraser, patientKind, id, { reason: 'Asked' });
  }
  await close();
  await service.restart();
  for (const one of [patient, other]) expect((await send(one)).body.code).toBe('return_pending');
  await damage(returnStream(service.workspaceId('returning'), 'patient', patient.id), 0);
  expect((await service.as(key).get('/integration/returned')).body.items).toMatchObject([
    { id: patient.id, state: 'waiting', refused_at: null, decided: null },
    { id: other.id, state: 'waiting', decided: null },
  ]);
});
