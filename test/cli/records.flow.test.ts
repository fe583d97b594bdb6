import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { generateApiKey } from '../../src/modules/auth/apiKeys.ts';

import { runCli } from '../support/cli.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, newEvents, type TestService } from '../support/service.ts';
import { Receiver } from '../support/webhooks.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  const records = (...args: string[]) =>
    runCli(['records', ...args, '--url', service.url], {
      env: { CHARTLEDGER_API_KEY: service.key as string },
    });

  test('get shows a record, or one of its versions, as the interface does, and is in the audit trail', async () => {
    const patient = { ...samples.patient(), id: `${phi('patient')}/1` };
    const appended = await appendedBy(service, async () => {
      for (const city of ['Omaha', 'Lincoln'])
        await service.post('/integration/patients', { ...patient, city });
    });
    expect(appended).toHaveLength(2);
    const path = `/integration/patients/${encodeURIComponent(patient.id)}`;
    const accesses = await accessesBy(service, async () => {
      const { code, stdout } = await records('get', 'patient', patient.id, '--json');
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toEqual((await service.get(path)).body);
      const first = await records('get', 'patient', patient.id, '--version', '1');
      expect(first.stdout).toMatch(/^version +1$/m);
      expect(first.stdout).toMatch(/^city +"Omaha"$/m);
      const future = await records('get', 'patient', patient.id, '--as-of', '2099-01-01', '--json');
      expect(JSON.parse(future.stdout)).toMatchObject({ version: 2, record: { city: 'Lincoln' } });
    });
    expect(accesses.map(({ action }) => action)).toEqual(Array(4).fill('record.read'));
  });

  test('what is not there, or was asked for in a wrong way, is one line', async () => {
    const appended = await appendedBy(service, async () => {
      expect(await records('get', 'patient', 'nobody')).toEqual({
        code: 1,
        stdout: '',
        stderr: 'The service refused the request (404): Patient not found.\n',
      });
      const early = await records('get', 'payer', 'nobody', '--version', '0');
      expect(early.code).toBe(2);
      expect(early.stderr).toContain('Specify a whole number of 1 or more.');
      const two = await records('get', 'payer', 'nobody', '--version', '1', '--as-of', '2026-01-01');
      expect(two.stderr).toContain("option '--as-of <time>' cannot be used with option '--version <n>'");
    });
    expect(appended).toEqual([]);
  });

  test('list goes through all pages, in the order of creation', async () => {
    const { key } = await service.createKey('listed');
    const listed = (...args: string[]) =>
      runCli(['records', 'list', 'provider', '--url', service.url, ...args], {
        env: { CHARTLEDGER_API_KEY: key },
      });
    expect((await listed('--json')).stdout).toBe('[]\n');
    const providers = Array.from({ length: 3 }, samples.provider);
    for (const provider of providers) {
      expect((await service.as(key).post('/integration/providers', provider)).status).toBe(200);
    }
    const { code, stdout } = await listed();
    expect(code).toBe(0);
    const [head, ...rows] = stdout.trimEnd().split('\n');
    expect(head).toMatch(/^ID +NAME +VERSION +LAST CHANGE$/);
    expect(rows.map((row) => row.split(/ {2,}/).slice(0, 3))).toEqual(
      providers.map(({ id, first_name, last_name }) => [id, `${first_name} ${last_name}`, '1']),
    );
    expect(JSON.parse((await listed('--json')).stdout)).toMatchObject(
      providers.map((provider) => ({ version: 1, record: provider })),
    );
    expect(JSON.parse((await listed('--json', '--limit', '2')).stdout)).toHaveLength(2);
  });

  test('a list that lacks what cannot be read says so, in every format', async () => {
    const { key } = await service.createKey('unreadable');
    const [sound, newer] = [samples.payer(), samples.payer()];
    const events = await newEvents(service, async () => {
      for (const payer of [newer, sound]) await service.as(key).post('/integration/payers', payer);
    });
    const { stream, type, data, metadata } = events[0] as RecordedEvent;
    const ofNewerVersion = { ...{ id: uuidv7(), type, data }, metadata: { ...metadata, schemaVersion: 99 } };
    await service.eventLog.append(stream, ofNewerVersion, 'any');
    const listed = (...args: string[]) =>
      runCli(['records', 'list', 'payer', '--url', service.url, ...args], {
        env: { CHARTLEDGER_API_KEY: key },
      });
    const table = await listed();
    expect(table.stdout).toMatch(new RegExp(`^${newer.id} +cannot be read`, 'm'));
    expect(table.code).toBe(1);
    const { code, stdout, stderr } = await listed('--json');
    expect(JSON.parse(stdout)).toMatchObject([{ record: sound }]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: `${newer.id} cannot be read and is left out.\n` });
  });

  test('search finds records by what people know of them', async () => {
    const { key } = await service.createKey('searched');
    const providers = Array.from({ length: 3 }, samples.provider);
    for (const provider of providers) {
      expect((await service.as(key).post('/integration/providers', provider)).status).toBe(200);
    }
    const searched = (...args: string[]) =>
      runCli(['records', 'search', '--url', service.url, ...args], { env: { CHARTLEDGER_API_KEY: key } });
    const accesses = await accessesBy(service, async () => {
      const { code, stdout } = await searched('nguy', 'ADA');
      expect(code).toBe(0);
      const [head, ...rows] = stdout.trimEnd().split('\n');
      expect(head).toMatch(/^KIND +ID +NAME +DETAILS$/);
      expect(rows.map((row) => row.split(/ {2,}/).slice(0, 3))).toEqual(
        providers
          .toReversed()
          .map(({ id, first_name, last_name }) => ['provider', id, `${first_name} ${last_name}`]),
      );
      const two = await searched('ada', '--kind', 'provider', '--limit', '2', '--json');
      expect(JSON.parse(two.stdout)).toHaveLength(2);
    });
    expect(accesses.map(({ action }) => action)).toEqual(['record.search', 'record.search']);
  });
});

test('a service that limits requests is waited for, and one that is none is named', async () => {
  let requests = 0;
  const receiver = await Receiver.listen((_req, res) => {
    requests += 1;
    if (requests === 1) res.writeHead(429, { 'retry-after': '1' }).end('{"error":"Too many","retryAfter":1}');
    else res.writeHead(requests === 2 ? 503 : 302).end(requests === 2 ? '{"error":"Away."}' : '');
  });
  const url = `http://127.0.0.1:${receiver.port}`;
  const env = { CHARTLEDGER_API_KEY: generateApiKey() };
  const get = () => runCli(['records', 'get', 'payer', 'p', '--url', url], { env });
  expect(await get()).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'The service limits requests; continuing in 1 s.\n' +
      `The service at ${url} cannot respond at the moment (503): Away.\n`,
  });
  expect((await get()).stderr).toBe(
    `${url} answered with 302, which is not a response of a Chartledger service. Check the address in --url.\n`,
  );
  await receiver.close();
});

test('a service that asks for more patience than a command has is not waited for', async () => {
  let requests = 0;
  const receiver = await Receiver.listen((_req, res) => {
    requests += 1;
    res.writeHead(503, { 'retry-after': '600' }).end('{"error":"Behind."}');
  });
  const url = `http://127.0.0.1:${receiver.port}`;
  const env = { CHARTLEDGER_API_KEY: generateApiKey() };
  expect(await runCli(['reconcile', 'package.json', '--url', url], { env })).toEqual({
    ...{ code: 1, stdout: '' },
    stderr: `The service at ${url} cannot respond at the moment (503): Behind.\n`,
  });
  expect(requests).toBe(1);
  await receiver.close();
});

test('a service that cannot respond yet is asked again when it says so', async () => {
  let requests = 0;
  const receiver = await Receiver.listen((_req, res) => {
    requests += 1;
    if (requests === 1) res.writeHead(503, { 'retry-after': '1' }).end('{"error":"Behind."}');
    else res.end('{"summary":{"lines":0,"same":0}}\n');
  });
  const args = ['reconcile', 'package.json', '--url', `http://127.0.0.1:${receiver.port}`];
  expect(await runCli(args, { env: { CHARTLEDGER_API_KEY: generateApiKey() } })).toEqual({
    ...{ code: 0, stderr: '', stdout: '0 lines: 0 same\n' },
  });
  expect(requests).toBe(2);
  await receiver.close();
});

test.each([
  ['records', 'get', 'payer', 'p'],
  ['records', 'list', 'payer'],
  ['records', 'search', 'word'],
  ['events', 'tail'],
  ['reconcile', 'package.json'],
])('a response that breaks off is told as what it is: %s %s', async (...args) => {
  const receiver = await Receiver.listen((_req, res) => {
    res.writeHead(200, { 'content-length': 1_000 }).write('{"items": [');
    setImmediate(() => res.destroy());
  });
  const url = `http://127.0.0.1:${receiver.port}`;
  const env = { CHARTLEDGER_API_KEY: generateApiKey() };
  const { code, stderr } = await runCli([...args, '--url', url], { env });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `The response of the service at ${url} broke off. Run the command again.\n`,
  });
  await receiver.close();
});
