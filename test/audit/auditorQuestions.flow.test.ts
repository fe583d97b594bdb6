import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fromBufferPromise } from 'yauzl';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { eventLeaf } from '../../src/domain/merkle.ts';
import { runCli, runInWorkspace, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { readAll, sharedService, type TestService } from '../support/service.ts';

type Fields = Record<string, unknown>;

/**
 * The ten questions of docs/guides/answer-an-auditor.md. Each answer of the product is compared with what the events of the log say by a fold
 * that shares nothing with the product's own.
 */
let service: TestService;
const folder = temporaryFolder();
const [before, after] = [samples.payer(), samples.payer()];
const patient = samples.patient();
const [held, erased] = [samples.patient(), samples.patient()];
const visit = samples.encounter(patient.id);
let [reader, sync] = ['', ''];

beforeAll(async () => {
  service = await sharedService();
  const post = async (path: string, body: object, client = service) =>
    expect((await client.post(`/integration/${path}`, body)).status).toBe(200);
  const insuredBy = ({ id }: { id: string }) => ({
    ...patient,
    primary_insurance: { payer_id: id, policy_number: phi('W1') },
  });
  for (const one of [before, after]) await post('payers', one);
  await post('patients', insuredBy(before));
  for (const one of [held, erased]) await post('patients', one);
  await post('encounters', visit);
  const terms = { recipient: 'State registry', purpose: 'other', purpose_statement: 'State law' } as const;
  const registry = await service.keys.createKey(clinic(), 'Registry', ['read'], terms);
  const nightly = await service.keys.createKey(clinic(), 'Nightly sync', ['write']);
  [reader, sync] = [registry.id, nightly.id];
  const registryClient = service.as(registry.key);
  expect((await registryClient.get(`/integration/patients/${patient.id}`)).status).toBe(200);
  expect((await registryClient.get(`/integration/encounters/${visit.id}`)).status).toBe(200);
  expect((await registryClient.get(`/integration/patients/${held.id}`)).status).toBe(200);
  for (const one of [insuredBy(after), { ...held, city: 'Omaha' }])
    expect((await service.as(nightly.key).post('/integration/patients', one)).status).toBe(200);
  await cli('holds', 'create', 'patient', held.id, '--reason', 'Case 2031-17');
  await cli('records', 'erase', 'patient', erased.id, '--reason', 'Request 2026-117');
  await service.keys.setRetention(clinic(), 7);
  await eventually(async () => {
    const { body } = await service.post('/integration/encounters', samples.encounter(erased.id));
    expect(body.code).toBe('reference_not_found');
  });
  await post('patients', erased);
}, 120_000);
afterAll(() => service.stop());

const clinic = () => service.workspaceId('clinic');
const cli = async (...args: string[]) => {
  const { code, stdout, stderr } = await runInWorkspace(service, ...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
};
const json = async (...args: string[]) => JSON.parse(await cli(...args, '--json'));

/** The events of the workspace, in log order. */
async function events(...types: string[]): Promise<RecordedEvent[]> {
  const all = await readAll(service.eventLog);
  return all.filter(
    ({ type, metadata }) => metadata.workspace === clinic() && (types.length === 0 || types.includes(type)),
  );
}

/** What a patient's events up to a time say together. */
async function patientAt(id: string, at = '9999'): Promise<Fields> {
  const upserts = await events('PatientUpserted');
  const own = upserts.filter(({ data, recordedAt }) => data.id === id && recordedAt <= at);
  return Object.assign({}, ...own.map(({ data }) => data));
}

/** The accesses by the registry that named a patient or its visit. */
async function seenByRegistry(): Promise<RecordedEvent[]> {
  const accesses = await events('AccessRecorded');
  return accesses.filter(
    ({ data, metadata }) =>
      metadata.principal.id === reader && [patient.id, visit.id].includes(String(data.record_id)),
  );
}
const positions = (all: { position: number }[]) =>
  all.map(({ position }) => position).toSorted((a, b) => a - b);

test('1: who has seen this patient?', async () => {
  const seen = await json('audit', 'list', '--kind', 'patient', '--id', patient.id, '--seen');
  const others = seen.filter((one: Fields) => one.principal_id !== reader);
  // The commands of this test itself.
  expect(others.every((one: Fields) => one.principal_type === 'operator')).toBe(true);
  const expected = await seenByRegistry();
  expect(expected).toHaveLength(2);
  expect(positions(seen.filter((one: Fields) => one.principal_id === reader))).toEqual(positions(expected));
});

test('2: which insurance did the patient have on that day?', async () => {
  const [first] = (await events('PatientUpserted')).filter(({ data }) => data.id === patient.id);
  for (const at of [first?.recordedAt as string, new Date().toISOString()]) {
    const { record } = await json('records', 'history', 'patient', patient.id, '--as-of', at);
    expect(record.primary_insurance).toEqual((await patientAt(patient.id, at)).primary_insurance);
    const asked = await service.get(`/integration/patients/${patient.id}?as_of=${encodeURIComponent(at)}`);
    expect(asked.body.record).toEqual(record);
  }
});

test('3: to whom was the patient disclosed?', async () => {
  const { disclosures } = await json('disclosures', 'list', 'patient', patient.id, '--accounting');
  const listed = disclosures.filter((one: { recipient: string }) => one.recipient === 'State registry');
  expect(positions(listed)).toEqual(positions(await seenByRegistry()));
  expect(new Set(listed.map((one: Fields) => one.purpose_statement))).toEqual(new Set(['State law']));
});

test('4: what is under legal hold, why, and since when?', async () => {
  const inForce = new Map<unknown, Fields>();
  for (const { type, data, recordedAt: at } of await events('HoldAdded', 'HoldReleased')) {
    if (type === 'HoldAdded') inForce.set(data.hold_id, { ...data, at });
    else inForce.delete(data.hold_id);
  }
  const listed = await json('holds', 'list');
  expect(listed.map((one: { added: Fields } & Fields) => ({ ...one.added, ...one }))).toEqual(
    [...inForce.values()].map(({ hold_id: id, kind, record_id, at, reason }) =>
      expect.objectContaining({ id, kind, record_id, at, reason }),
    ),
  );
  expect(listed).toHaveLength(1);
});

test('5: what was erased, by whom, when and why?', async () => {
  const tombstones = await events('RecordErased');
  expect(tombstones.map(({ data }) => data.record_id)).toEqual([erased.id]);
  const trail = await json('audit', 'list', '--action', 'RecordErased');
  expect(
    trail.map(({ position, recorded_at, record_id }: Fields) => [position, recorded_at, record_id]),
  ).toEqual(tombstones.map(({ position, recordedAt, data }) => [position, recordedAt, data.record_id]));
  const { log } = JSON.parse(await verified());
  expect(log.erasures).toEqual(
    tombstones.map(({ stream, data, metadata, recordedAt }) => ({
      ...{ stream, versions: (data.erased as []).length, reason: data.reason },
      ...{ principal: metadata.principal, erased_at: recordedAt },
    })),
  );
});

test('6: how long are records kept, and what is past that?', async () => {
  const set = (await readAll(service.eventLog)).filter(
    ({ type, data }) => type === 'WorkspaceRetentionSet' && data.workspace === clinic(),
  );
  const env = { ...storesOf(service.config), DATA_DIR: service.config.dataDir };
  const { stdout } = await runCli(['workspaces', 'list', '--json'], { env });
  const [listed] = JSON.parse(stdout).filter((one: Fields) => one.id === clinic());
  expect(listed.retention).toBe(set.at(-1)?.data.retention);
  const before = `${new Date().getUTCFullYear() - Number(listed.retention)}`;
  const due = (await events('PatientUpserted')).filter(({ recordedAt }) => recordedAt < before);
  expect(await json('retention', 'list')).toEqual(due);
});

test('7: what does the patient get who asks for a copy?', async () => {
  const file = join(folder, 'copy.zip');
  await cli('records', 'copy', 'patient', patient.id, '--out', file);
  const archive = await fromBufferPromise(readFileSync(file));
  let copied = { patient: { record: {} }, encounters: [{ record: {} }] };
  for await (const entry of archive.eachEntry()) {
    if (entry.fileName !== 'patient.json') continue;
    const parts = await Array.fromAsync(await archive.openReadStreamPromise(entry));
    copied = JSON.parse(Buffer.concat(parts as Buffer[]).toString());
  }
  expect(copied.patient.record).toMatchObject(await patientAt(patient.id));
  const visits = (await events('EncounterUpserted')).filter(({ data }) => data.patient_id === patient.id);
  expect(copied.encounters.map(({ record }) => record)).toEqual(
    visits.map(({ data }) => expect.objectContaining(data)),
  );
});

test('8: what did this key change?', async () => {
  const own = (await events('PatientUpserted')).filter(({ metadata }) => metadata.principal.id === sync);
  const expected: unknown[] = [];
  for (const { data, recordedAt } of own) {
    const earlier = (await events('PatientUpserted')).filter(
      (one) => one.data.id === data.id && one.metadata.principal.id !== sync,
    );
    const flat = (fields: Fields) =>
      Object.entries(fields).flatMap(([name, value]) =>
        typeof value === 'object' && value !== null
          ? Object.entries(value).map(([inner, one]) => [`${name}.${inner}`, one] as const)
          : [[name, value] as const],
      );
    const was = new Map(flat(Object.assign({}, ...earlier.map((one) => one.data))));
    for (const [field, to] of flat(data))
      if (was.get(field) !== to)
        expected.push({ id: data.id, field, from: was.get(field) ?? null, to, at: recordedAt });
  }
  const changed = await json('changes', '--principal', sync);
  const listed = changed.flatMap(({ id, fields }: { id: string; fields: Fields[] }) =>
    fields.map(({ field, from, to, at }) => ({ id, field, from, to, at })),
  );
  expect(listed).toEqual(expect.arrayContaining(expected));
  expect(listed).toHaveLength(expected.length);
  expect(expected.length).toBeGreaterThan(2);
});

test('9: who came back after an erasure?', async () => {
  const [tombstone] = await events('RecordErased');
  const back = (await events('PatientUpserted')).filter(
    ({ stream, position }) => stream === tombstone?.stream && position > tombstone.position,
  );
  expect(await json('records', 'returned')).toEqual(
    back.map(({ data, recordedAt, revision, metadata }) =>
      expect.objectContaining({
        ...{ kind: 'patient', id: data.id, state: 'returned', returned_at: recordedAt },
        ...{ version: revision + 1, principal: metadata.principal },
      }),
    ),
  );
  expect(back).toHaveLength(1);
});

test('10: is the log whole, and as it was written?', async () => {
  const { log, outcome } = JSON.parse(await verified());
  expect(outcome).toBe('verified');
  // Of what was erased, the tombstone keeps the leaves.
  const leaves = (await events()).flatMap((event) => [
    { position: event.position, leaf: eventLeaf(event) },
    ...(event.type === 'RecordErased' ? (event.data.erased as { position: number; leaf: string }[]) : []),
  ]);
  const own = leaves.toSorted((a, b) => a.position - b.position).slice(0, log.events);
  expect(own).toHaveLength(log.events);
  expect(log.tree_head).toBe(rootOf(own.map(({ leaf }) => leaf)));
});

/** Anything but a match with the tree, such as that there is no earlier head to compare with, would be an exit code above 0. */
async function verified(): Promise<string> {
  const head = join(folder, `${randomUUID()}.json`);
  const { stdout, code } = await runInWorkspace(service, 'verify', '--save-head', head, '--json');
  expect(code).toBe(0);
  return stdout;
}

/** The root of a Merkle tree as RFC 6962 defines it, by its definition. */
function rootOf(leaves: readonly string[]): string {
  if (leaves.length === 1) return leaves[0] as string;
  let half = 1;
  while (half * 2 < leaves.length) half *= 2;
  const [left, right] = [rootOf(leaves.slice(0, half)), rootOf(leaves.slice(half))];
  return createHash('sha256')
    .update(Buffer.from(`01${left}${right}`, 'hex'))
    .digest('hex');
}
