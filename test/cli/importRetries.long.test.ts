import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { generateApiKey } from '../../src/modules/auth/apiKeys.ts';
import { spawnCli, temporaryFolder } from '../support/cli.ts';
import { startFakeService } from '../support/network.ts';

type FakeService = Awaited<ReturnType<typeof startFakeService>>;
let service: FakeService;
afterEach(() => service.stop());

const ids = Array.from({ length: 40 }, (_, index) => `payer-${index}`);
/** More than one batch takes. */
const manyIds = Array.from({ length: 2_500 }, (_, index) => `payer-${index}`);

function payersFile(sent = ids, folder = temporaryFolder()): string {
  const path = join(folder, 'payers.ndjson');
  writeFileSync(
    path,
    sent
      .map((id, line) => JSON.stringify({ kind: 'payer', record: { id, name: `name ${line}` } }))
      .join('\n'),
  );
  return folder;
}

const apiKey = generateApiKey();

/** Imports the payers of a folder; `more` of `spawnCli`. */
function importPayers(more: Parameters<typeof spawnCli>[1] = {}, folder = payersFile(), args: string[] = []) {
  return spawnCli(
    ['import', 'payers.ndjson', '--format', 'ndjson', '--url', `${service.url}/`, '--json', ...args],
    {
      cwd: folder,
      env: { CHARTLEDGER_API_KEY: apiKey },
      ...more,
    },
  );
}

const away = { status: 503, body: { error: 'The event log is not available.' } };
const statesIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.state.json'));

test('a rate limit is waited out as told, and every record is taken exactly once', async () => {
  service = await startFakeService(({ number }) =>
    number === 0 ? { status: 429, body: { error: 'Too many requests.', retryAfter: 1 } } : 'accept',
  );
  const { code, stdout, stderr } = await importPayers();
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: 'Waiting: the service limits requests; continuing in 1 s.\n',
  });
  expect(JSON.parse(stdout)).toMatchObject({ accepted: 40, rejected: 0, created: 40 });
  expect(service.accepted).toEqual(ids);
});

test('the header Retry-After does where the body does not tell', async () => {
  service = await startFakeService(({ number }) =>
    number === 0 ? { status: 429, body: {}, headers: { 'retry-after': '1' } } : 'accept',
  );
  expect((await importPayers()).stderr).toBe('Waiting: the service limits requests; continuing in 1 s.\n');
  expect(service.accepted).toEqual(ids);
});

test('what broke off is sent again under the same key, and other rows never are', async () => {
  const sent = new Map<string | undefined, Set<string>>();
  service = await startFakeService(({ lines, key, number }) => {
    const texts = sent.get(key) ?? new Set();
    sent.set(key, texts.add(JSON.stringify(lines)));
    if (number === 0) return 'hang up';
    if (number === 2) return { lines: [], isCutOff: true };
    return number === 4 ? away : 'accept';
  });
  const { code, stdout } = await importPayers({}, payersFile(manyIds));
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ accepted: 2_500, rejected: 0 });
  expect(service.requests()).toBe(6);
  expect([...sent.values()].map((texts) => texts.size)).toEqual([1, 1, 1]);
  expect(new Set(service.accepted)).toEqual(new Set(manyIds));
});

test('rows that may be accepted later are sent again by themselves, with what refers to them', async () => {
  const batches: [string | undefined, string[]][] = [];
  const missing = { status: 400, code: 'reference_not_found', error: 'not found', retryable: false };
  const limited = { status: 429, code: 'rate_limited', error: 'Too many.', retryable: true, retryAfter: 1 };
  const invalid = { status: 400, code: 'validation_failed', error: 'name is required', retryable: false };
  service = await startFakeService(({ lines, key, number }) => {
    batches.push([key, lines.map(({ record }) => record.id)]);
    return number === 0 ? { lines: ['accept', limited, missing, invalid] } : 'accept';
  });
  const folder = payersFile(['a', 'b', 'c', 'd', 'e']);
  const { code, stdout } = await importPayers({}, folder, ['--reject-file', 'refused.ndjson']);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    accepted: 4,
    rejected: 1,
    by_kind: { payer: { accepted: 4, rejected: 1 } },
  });
  expect(batches.map(([, rows]) => rows)).toEqual([
    ['a', 'b', 'c', 'd', 'e'],
    ['b', 'c'],
  ]);
  expect(batches[0]?.[0]).not.toBe(batches[1]?.[0]);
  expect(JSON.parse(readFileSync(join(folder, 'refused.ndjson'), 'utf8'))).toEqual({
    kind: 'payer',
    source: 'payers.ndjson:4',
    id: 'd',
    status: 400,
    error: 'name is required',
  });
});

test('rows whose fate is open keep their batch and its key, also when a limit comes in between', async () => {
  const batches: [string | undefined, number][] = [];
  const open = { status: 503, code: 'unavailable', error: 'Away.', retryable: true };
  const limited = { status: 429, code: 'rate_limited', error: 'Too many.', retryable: true, retryAfter: 1 };
  service = await startFakeService(({ lines, key, number }) => {
    batches.push([key, lines.length]);
    if (number === 0) return { lines: ['accept', open, 'accept'] };
    return number === 1 ? { lines: ['accept', 'accept', limited] } : 'accept';
  });
  const { code, stdout } = await importPayers({}, payersFile(['a', 'b', 'c']));
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, accepted: 3, rejected: 0 });
  const [[key] = []] = batches;
  expect(batches).toEqual([
    [key, 3],
    [key, 3],
    [key, 3],
  ]);
});

test('an address that is not a service’s stops the import at once, and leaves no state', async () => {
  const answers = [
    { status: 404, body: { error: 'Not found' } },
    { status: 200, body: { hello: 'world' } },
    { status: 301, body: {}, headers: { location: 'https://elsewhere.example/' } },
  ];
  for (const answer of answers) {
    service = await startFakeService(() => answer);
    const folder = payersFile();
    const { code, stdout, stderr } = await importPayers({}, folder);
    expect(code).toBe(1);
    expect(stderr).toContain(
      `answered with ${answer.status}, which is not a response of a Chartledger service. Check`,
    );
    expect(JSON.parse(stdout)).toMatchObject({ accepted: 0, rejected: 0 });
    expect(service.requests()).toBe(1);
    expect(statesIn(folder)).toEqual([]);
    service.stop();
  }
});

test('Ctrl-C ends an import in good order, with the counts so far, and the same command goes on', async () => {
  const limit = { status: 429, body: { error: 'Too many requests.', retryAfter: 3600 } };
  let isLimited = true;
  service = await startFakeService(({ number }) => (number > 0 && isLimited ? limit : 'accept'));
  const folder = payersFile(manyIds);
  const { code, stdout, stderr } = await importPayers(
    { onStderr: (text, kill) => text.endsWith('continuing in 3600 s.\n') && kill('SIGINT') },
    folder,
  );
  expect(code).toBe(130);
  expect(stderr).toMatch(/: the same command goes on from there\.\nThe import stopped early: interrupted\n$/);
  expect(JSON.parse(stdout)).toMatchObject({ accepted: 1_000, rejected: 0 });
  isLimited = false;
  const second = await importPayers({}, folder);
  expect(second.stderr).toMatch(
    /^Going on with the import that was begun at .+, behind 1000 that were answered\.\n$/,
  );
  expect(JSON.parse(second.stdout)).toMatchObject({ accepted: 2_500, created: 2_500, rejected: 0 });
  expect(service.accepted).toEqual(manyIds);
  expect(statesIn(folder)).toEqual([]);
});

test('an import goes on with the input, options and key that it began with, or begins anew with --fresh', async () => {
  service = await startFakeService(({ number }) =>
    number === 1 ? { status: 403, body: { error: 'No.' } } : 'accept',
  );
  const folder = payersFile(manyIds);
  expect((await importPayers({}, folder)).stderr).toContain('The service refused the API key (403): No.');
  const refusals: [Parameters<typeof importPayers>[0], string[], string][] = [
    [{}, ['--unchanged', 'skip'], 'it had other options (unchanged)'],
    [{ env: { CHARTLEDGER_API_KEY: generateApiKey() } }, [], 'it had another API key'],
  ];
  for (const [more, args, reason] of refusals) {
    const { code, stderr } = await importPayers(more, folder, args);
    expect(code).toBe(1);
    expect(stderr).toContain(
      `, and ${reason}. Nothing was sent. Resume it as it was started, or start over with --fresh.`,
    );
  }
  payersFile(ids, folder);
  expect((await importPayers({}, folder)).stderr).toContain(
    'and payers.ndjson changed since then. Nothing was sent.',
  );
  expect(service.requests()).toBe(2);
  const { code, stdout } = await importPayers({}, folder, ['--fresh']);
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, accepted: 40 });
  expect(service.accepted.slice(1_000)).toEqual(ids);
  expect(existsSync(join(folder, 'payers.ndjson'))).toBe(true);
  expect(readdirSync(folder)).toEqual(['payers.ndjson']);
});

test('FHIR that was cut off goes on behind the lines that were answered, and a store that is away is waited for', async () => {
  const folder = temporaryFolder();
  const lines = manyIds.slice(0, 1_500).map((id) => JSON.stringify({ resourceType: 'Patient', id }));
  writeFileSync(join(folder, 'Patient.ndjson'), lines.join('\n'));
  const issue = [{ severity: 'error', code: 'login', diagnostics: 'Send an API key.' }];
  const outcome = { resourceType: 'OperationOutcome', issue };
  const sent: unknown[] = [];
  service = await startFakeService(({ number, lines: received }) => {
    const [first] = received as unknown as { id: string }[];
    sent.push([received.length, first?.id]);
    if (number === 1) return { status: 401, body: outcome };
    const isAway = number === 2;
    const summary = { created: received.length - (isAway ? 1 : 0), updated: 0, unchanged: 0 };
    const told = JSON.stringify({ line: 3, status: 503, outcome });
    return { status: 200, text: `${isAway ? `${told}\n` : ''}${JSON.stringify({ summary })}\n` };
  });
  const importing = () =>
    spawnCli(['import', '.', '--format', 'fhir', '--url', service.url, '--json'], {
      ...{ cwd: folder, env: { CHARTLEDGER_API_KEY: apiKey } },
    });
  const cutOff = await importing();
  expect(cutOff).toMatchObject({ code: 1, stderr: expect.stringContaining('Send an API key.') });
  expect(JSON.parse(cutOff.stdout)).toMatchObject({ accepted: 1_000, created: 1_000 });
  expect(statesIn(folder)).toHaveLength(1);
  const whole = await importing();
  expect(whole).toMatchObject({ code: 0, stderr: expect.stringContaining('a store is unavailable') });
  expect(JSON.parse(whole.stdout)).toMatchObject({ accepted: 1_500, created: 1_500, rejected: 0 });
  const rest = [500, 'payer-1000'];
  expect(sent).toEqual([[1_000, 'payer-0'], rest, rest, rest]);
  expect(statesIn(folder)).toEqual([]);
});
