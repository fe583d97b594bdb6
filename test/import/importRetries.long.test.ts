import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { generateApiKey } from '../../src/principals/keys/apiKey.ts';
import { spawnCli, temporaryFolder } from '../support/cli.ts';
import { startFakeService } from '../support/fakeService.ts';

type FakeService = Awaited<ReturnType<typeof startFakeService>>;
let service: FakeService;
afterEach(() => service.stop());

const ids = Array.from({ length: 40 }, (_, index) => `payer-${index}`);

/** Imports one payer for each of `sent`; `more` of `spawnCli`. */
function importPayers(more: Parameters<typeof spawnCli>[1] = {}, sent = ids) {
  const folder = temporaryFolder();
  const path = join(folder, 'payers.ndjson');
  writeFileSync(
    path,
    sent
      .map((id, line) => JSON.stringify({ kind: 'payer', record: { id, name: `name ${line}` } }))
      .join('\n'),
  );
  return spawnCli(['import', path, '--format', 'ndjson', '--url', `${service.url}/`, '--json'], {
    cwd: folder,
    env: { CHARTLEDGER_API_KEY: generateApiKey() },
    ...more,
  });
}

test('a rate limit is waited out as told, and every record is taken exactly once', async () => {
  let limitedUntil = 0;
  service = await startFakeService(({ number }) => {
    const now = performance.now();
    if (number === 10) limitedUntil = now + 1000;
    if (now >= limitedUntil) return 'accept';
    return { status: 429, body: { error: 'Too many requests.', retryAfter: 1 } };
  });
  const { code, stdout, stderr } = await importPayers();
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: 'Waiting: the service limits requests; going on in 1 s.\n',
  });
  expect(JSON.parse(stdout)).toMatchObject({ accepted: 40, rejected: 0, created: 40 });
  expect(service.accepted.toSorted()).toEqual(ids.toSorted());
});

test('the header Retry-After does where the body does not tell', async () => {
  service = await startFakeService(({ number }) =>
    number === 0 ? { status: 429, body: {}, headers: { 'retry-after': '1' } } : 'accept',
  );
  expect((await importPayers()).stderr).toBe('Waiting: the service limits requests; going on in 1 s.\n');
  expect(service.accepted.toSorted()).toEqual(ids.toSorted());
});

test('connections that break and a store that is away are tried again', async () => {
  service = await startFakeService(({ number }) => {
    if (number % 7 === 3) return 'hang up';
    return number % 7 === 5 ? { status: 503, body: { error: 'The event log is not available.' } } : 'accept';
  });
  const { code, stdout } = await importPayers();
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ accepted: 40, rejected: 0 });
  expect(service.accepted.toSorted()).toEqual(ids.toSorted());
});

test('lines for one record stay in order when the first of them has to be sent again', async () => {
  const taken: (string | undefined)[] = [];
  service = await startFakeService(({ id, name, number }) => {
    if (number === 0) return { status: 503, body: { error: 'The event log is not available.' } };
    if (id === 'again') taken.push(name);
    return 'accept';
  });
  const sent = ['again', ...ids.slice(0, 10), 'again', 'again'];
  const { code } = await importPayers({}, sent);
  expect(code).toBe(0);
  expect(taken).toEqual(['name 0', 'name 11', 'name 12']);
});

test('an address that is not a service’s stops the import at once', async () => {
  const answers = [
    { status: 404, body: { error: 'Not found' } },
    { status: 200, body: { hello: 'world' } },
    { status: 301, body: {}, headers: { location: 'https://elsewhere.example/' } },
  ];
  for (const answer of answers) {
    service = await startFakeService(() => answer);
    const { code, stdout, stderr } = await importPayers();
    expect(code).toBe(1);
    expect(stderr).toContain(`answers with ${answer.status}, not as a Chartledger service does. Check`);
    expect(JSON.parse(stdout)).toMatchObject({ accepted: 0, rejected: 0 });
    expect(service.requests()).toBeLessThanOrEqual(16);
    service.stop();
  }
});

test('Ctrl-C ends an import in good order, with the counts so far', async () => {
  service = await startFakeService(({ number }) =>
    number < 5 ? 'accept' : { status: 429, body: { error: 'Too many requests.', retryAfter: 3600 } },
  );
  const { code, stdout, stderr } = await importPayers({
    onStderr: (text, kill) => text.endsWith('going on in 3600 s.\n') && kill('SIGINT'),
  });
  expect(code).toBe(130);
  expect(stderr).toMatch(/The import stopped early: interrupted\n$/);
  expect(JSON.parse(stdout)).toMatchObject({ accepted: 5, rejected: 0 });
  expect(service.accepted).toHaveLength(5);
});
