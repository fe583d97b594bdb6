import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../src/platform/config.ts';
import { openEventLog } from '../../src/server/openStorage.ts';

import { spawnCli, temporaryFolder } from '../support/cli.ts';
import { Client } from '../support/client.ts';
import { BrowserlessSession } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { fetchDocument, operationOf } from '../support/openapi.ts';
import { phi } from '../support/output.ts';
import { ServiceProcess } from '../support/processes.ts';
import { samples } from '../support/samples.ts';
import { readAll } from '../support/service.ts';
import { createWebhook, HookEndpoint, openLoopback } from '../support/webhooks.ts';

/** A service, its threads and its commands, all of which know one kind more. */
const folder = temporaryFolder();
const env = {
  DATA_DIR: folder,
  RATE_LIMIT_PER_MINUTE: '0',
  NODE_OPTIONS: `--import=${pathToFileURL(resolve('test/support/processes/locationKind.ts'))}`,
};
const type = 'chartledger.location.upserted.v1';
const facility = samples.facility();
const location = { id: phi('location'), name: phi('Room'), facility_id: facility.id };
const path = `/integration/locations/${encodeURIComponent(location.id)}`;

let running: ServiceProcess;
let endpoint: HookEndpoint;
let client: Client;
beforeAll(async () => {
  running = new ServiceProcess({ ...env, ...openLoopback });
  endpoint = await HookEndpoint.open();
  const url = await running.url();
  const permissions = 'write,read,events,webhooks';
  const { key } = JSON.parse(
    await run(
      'keys',
      'create',
      '--create-workspace',
      '--workspace',
      'clinic',
      '--name',
      'Test',
      '--permissions',
      permissions,
      '--json',
    ),
  );
  client = new Client(url, key);
  await createWebhook(client, { url: endpoint.url, kinds: ['location'], payload: 'full' });
  for (const [plural, record] of [
    ['facilities', facility],
    ['locations', location],
  ] as const) {
    expect((await client.post(`/integration/${plural}`, record)).status).toBe(200);
  }
});
afterAll(async () => {
  await running.end();
  await endpoint.down();
});

/** Runs a command; with its output. */
async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await spawnCli(args, { cwd: folder, env });
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  return stdout;
}

/** The types of the records' events in the log. */
async function written(): Promise<string[]> {
  const eventLog = await openEventLog(loadConfig(env).eventLogUrl);
  const types = (await readAll(eventLog)).map((event) => event.type).filter((one) => /Upserted$/.test(one));
  await eventLog.close();
  return types;
}

async function events(view: string): Promise<{ type: string; subject: string; data: object }[]> {
  const { text } = await client.get(`/events?kinds=location&view=${view}`, {
    accept: 'application/x-ndjson',
  });
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

test('it is written, also in part and with warnings, and what it refers to must exist', async () => {
  const again = await client.post('/integration/locations', { ...location, name: ' ', floor: 3 });
  expect(again.body).toMatchObject({ success: true, message: 'Location updated', version: 2 });
  expect(again.body.warnings.map(({ field }: { field: string }) => field)).toEqual(['floor', 'name']);
  const { status, body } = await client.post('/integration/locations', {
    ...location,
    facility_id: 'nowhere',
  });
  expect([status, body.error]).toEqual([400, "Facility 'nowhere' does not exist"]);
  const nameless = await client.post('/integration/locations', { id: location.id });
  expect([nameless.status, nameless.body.details]).toEqual([
    400,
    [{ field: 'name', message: 'is required' }],
  ]);
  expect(await written()).toEqual(['FacilityUpserted', 'LocationUpserted', 'LocationUpserted']);
});

test('it is read, listed, and told with its history', async () => {
  const read = await client.get(path);
  expect(read.body).toMatchObject({ id: location.id, version: 2, record: { ...location, name: ' ' } });
  expect((await client.get(`${path}?version=1`)).body.record).toEqual(location);
  expect((await client.get('/integration/locations')).body.items).toEqual([read.body]);
  const { items } = (await client.get(`${path}/history`)).body;
  expect(items.map(({ version }: { version: number }) => version)).toEqual([2, 1]);
  expect(items[0].changes).toEqual([{ field: 'name', from: location.name, to: ' ' }]);
  expect(
    await run('records', 'history', 'location', location.id, '--workspace', 'clinic', '--format', 'json'),
  ).toContain(location.facility_id);
});

test('it is in the stream, in the de-identified view of it, and sent to webhooks', async () => {
  const full = await events('full');
  expect(full).toMatchObject([
    { type, subject: `location/${encodeURIComponent(location.id)}`, data: { version: 1, sent: location } },
    { type, data: { version: 2, changed: ['name'] } },
  ]);
  const hash = expect.stringMatching(/^[\w-]{22}$/);
  const deidentified = await events('deidentified');
  expect(deidentified.map(({ data }) => data)).toEqual([
    { version: 1, sent: { id: hash, facility_id: hash }, changed: ['facility_id', 'id'] },
    { version: 2, sent: { id: hash, facility_id: hash }, changed: [] },
  ]);
  for (const secret of Object.values(location)) expect(JSON.stringify(deidentified)).not.toContain(secret);
  await eventually(() => expect(endpoint.accepted).toHaveLength(2));
});

test('it is described: its operations, whose examples are accepted, and its events', async () => {
  const document = await fetchDocument(client);
  const { requestBody } = operationOf(document, 'upsertLocation');
  const { examples } = requestBody.content['application/json'];
  expect(examples.complete.value).toEqual({
    id: 'location-6001',
    name: 'Room 12',
    facility_id: 'facility-3001',
  });
  expect((await client.post('/integration/locations', examples.minimal.value)).status).toBe(200);
  for (const operation of ['listLocations', 'getLocation', 'getLocationHistory']) {
    expect(operationOf(document, operation).tags).toEqual(['Locations']);
  }
  for (const name of [type, `${type}.deidentified`]) {
    expect((await client.get(`/schemas/${name}`)).body.properties.sent.properties).toHaveProperty(
      'facility_id',
    );
  }
  const { channels } = (await client.get('/asyncapi/json')).body;
  expect(Object.keys(channels.events.messages)).toEqual(
    expect.arrayContaining([type, `${type}.deidentified`]),
  );
});

test('the dashboard lists and shows it', async () => {
  const visitor = new BrowserlessSession(client.url);
  const user = { name: phi('ada@clinic.example'), password: phi('correct horse battery') };
  const create = ['users', 'create', user.name, '--role', 'admin', '--all-workspaces', '--password-stdin'];
  const made = await spawnCli(create, { cwd: folder, env, input: `${user.password}\n` });
  expect(made).toMatchObject({ code: 0, stderr: '' });
  await eventually(async () => {
    await visitor.signIn(user);
    expect(await visitor.isSignedIn()).toBe(true);
  });
  const list = await visitor.get('/workspaces/clinic/records?kind=locations');
  expect([list.status, list.text]).toEqual([200, expect.stringContaining(location.id)]);
  expect(list.text).toContain('aria-label="Locations"');
  const page = await visitor.get(`/workspaces/clinic/records/locations/${encodeURIComponent(location.id)}`);
  expect([page.status, page.text]).toEqual([200, expect.stringContaining('>Facility</a>')]);
  expect(page.text).toContain(`/records/facilities/${encodeURIComponent(facility.id)}`);
});

test('it is imported, exported and verified', async () => {
  const other = { id: phi('location'), name: phi('Bed') };
  const source = join(folder, 'locations.ndjson');
  writeFileSync(source, `${JSON.stringify({ kind: 'location', record: other })}\n`);
  const imported = await spawnCli(['import', source, '--format', 'ndjson', '--url', client.url], {
    cwd: folder,
    env: { ...env, CHARTLEDGER_API_KEY: String(client.key) },
  });
  expect([imported.code, imported.stdout]).toEqual([0, expect.stringContaining('1 accepted')]);
  const out = join(folder, 'export.ndjson');
  await run('export', '--workspace', 'clinic', '--kind', 'location', '--format', 'ndjson', '--out', out);
  const lines = readFileSync(out, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map((line) => line.type)).toEqual(Array.from({ length: 4 }, () => 'LocationUpserted'));
  expect(lines[0].data).toEqual(location);
  expect(await run('verify', '--workspace', 'clinic')).toMatch(/^\d+ events verified/);
});
