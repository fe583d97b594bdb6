import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, type TestContext, test } from 'vitest';
import { temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { node } from '../support/processes.ts';
import { quickStreams } from '../support/quickStreams.ts';
import { samples } from '../support/samples.ts';
import { appendedBy, startTestService, type TestService } from '../support/service.ts';

const LONG_MS = 300_000;
const TAKEN_MS = 60_000;
const guide = readFileSync('docs/guides/consume-the-stream.md', 'utf8');
const [, section = ''] = guide.split('\n## Connect again\n');
const [browserLines = '', nodeLines = '', pythonLines = ''] = [
  ...section.matchAll(/^```(?:js|python)\n(.*?)^```/gms),
].map(([, lines]) => lines);

let service: TestService;
let streams: Awaited<ReturnType<typeof quickStreams>>;
beforeAll(async () => {
  service = await startTestService();
  streams = await quickStreams(service);
});
afterAll(async () => {
  await streams.stop();
  await service.stop();
});

const running: (() => void)[] = [];
afterEach(() => {
  for (const stop of running.splice(0)) stop();
});

/** A proxy that adds the API key, passes a stream on until `restart`, and then answers one request with 502. */
async function proxyTo(url: string, key: string) {
  const open = new Set<ServerResponse>();
  const proxy = { url: '', passed: '', statuses: [] as number[], restart: () => {} };
  let isRestarting = false;
  const server = createServer((req, res) => {
    if (isRestarting) {
      isRestarting = false;
      proxy.statuses.push(502);
      res.writeHead(502, { 'content-type': 'text/html' }).end('<h1>502 Bad Gateway</h1>');
      return;
    }
    const headers = { ...req.headers, 'x-api-key': key };
    const onward = request(new URL(req.url as string, url), { headers }, (answer) => {
      proxy.statuses.push(answer.statusCode as number);
      res.writeHead(answer.statusCode as number, answer.headers);
      res.flushHeaders();
      answer.on('data', (chunk) => {
        proxy.passed += chunk;
      });
      answer.on('error', () => res.destroy());
      answer.pipe(res);
    });
    onward.on('error', () => res.destroy());
    open.add(res);
    res.on('close', () => onward.destroy());
    onward.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  proxy.restart = () => {
    isRestarting = true;
    for (const res of open) res.destroy();
    open.clear();
  };
  running.push(() => server.close().closeAllConnections());
  return proxy;
}

/** What each program does with a message: it prints the version of an event. */
const javascript = `
const apply = ({ data }) => process.stdout.write('version ' + data.version + '\\n');
`;

/** Programs that follow the stream, by the address of the proxy and the folder in which they are. */
type Start = (url: string, folder: string, context: TestContext) => Promise<ChildProcess> | ChildProcess;

function startModule(text: string, ...options: string[]): Start {
  return (url, folder) => {
    writeFileSync(join(folder, 'program.mjs'), javascript + text.replaceAll('5_000', '50'));
    const env = { CHARTLEDGER_URL: url, CHARTLEDGER_API_KEY: '-' };
    return spawn(node, [...options, join(folder, 'program.mjs')], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  };
}

const packageOf = (name: string) => JSON.stringify(import.meta.resolve(name));

/** In a browser, addresses are relative to the page. */
const browser = `
const { CHARTLEDGER_URL } = process.env;
const Native = EventSource;
globalThis.EventSource = class extends Native {
  constructor(path) {
    super(CHARTLEDGER_URL + path.replace('/chartledger', ''));
  }
};
`;

const fetchEventSource = `
import { fetchEventSource } from ${packageOf('@microsoft/fetch-event-source')};
globalThis.window = globalThis;
await fetchEventSource(process.env.CHARTLEDGER_URL + '/events', {
  fetch,
  openWhenHidden: true,
  onmessage: ({ data }) => apply(JSON.parse(data)),
  onerror: () => 50,
});
`;

/** The environment of httpx-sse, installed once. */
let environment: Promise<string> | undefined;

async function install(): Promise<string> {
  const folder = join(temporaryFolder(), 'environment');
  const python = join(folder, 'bin/python');
  await promisify(execFile)('python3', ['-m', 'venv', folder]);
  await promisify(execFile)(python, ['-m', 'pip', 'install', '-q', 'httpx', 'httpx-sse']);
  return python;
}

const startPython: Start = async (url, folder, { skip }) => {
  environment ??= install();
  const python = await environment.catch(() => {
    process.stdout.write('Skipped: httpx-sse: there is no Python with venv, or pip reaches no packages.\n');
    return skip('httpx-sse cannot be installed');
  });
  const prelude = "def apply(event):\n    print('version', event['data']['version'], flush=True)\n\n";
  writeFileSync(join(folder, 'program.py'), prelude + pythonLines.replace('sleep(5)', 'sleep(0.05)'));
  const env = { ...process.env, CHARTLEDGER_URL: url, CHARTLEDGER_API_KEY: '-' };
  return spawn(python, [join(folder, 'program.py')], { env, stdio: ['ignore', 'pipe', 'pipe'] });
};

const readers: { reader: string; start: Start }[] = [
  {
    reader: 'the lines for browsers',
    start: startModule(browser + browserLines, '--experimental-eventsource', '--no-warnings'),
  },
  {
    reader: 'the lines for Node',
    start: startModule(nodeLines.replace("'eventsource'", packageOf('eventsource'))),
  },
  { reader: 'the lines for Python', start: startPython },
  { reader: 'fetch-event-source', start: startModule(fetchEventSource) },
];

test.for(readers)(
  'by $reader, a reader has every event once after a restart and a 502, and no empty message',
  { timeout: LONG_MS },
  async ({ start }, context) => {
    const label = `reader${readers.findIndex((one) => one.start === start)}`;
    const { key } = await service.createKey(label, ['write', 'events']);
    const elsewhere = service.as((await service.createKey('elsewhere')).key);
    const send = (client = service.as(key)) => client.post('/integration/payers', { ...payer });
    const payer = samples.payer();
    const proxy = await proxyTo(streams.url, key);

    const appended = await appendedBy(service, async () => {
      await send();
      const child = await start(proxy.url, temporaryFolder(), context);
      running.push(() => child.kill('SIGKILL'));
      let printed = '';
      for (const stream of [child.stdout, child.stderr])
        stream?.on('data', (chunk) => {
          printed += chunk;
        });
      await eventually(() => expect(printed).toBe('version 1\n'), TAKEN_MS);
      // What others write moves the stream on, which a comment says.
      await send(elsewhere);
      await eventually(() => expect(proxy.passed).toMatch(/^: position \d{16}\n/m));
      proxy.restart();
      await send();
      await eventually(() => expect(printed).toBe('version 1\nversion 2\n'), TAKEN_MS);
      expect(proxy.statuses.slice(0, 3)).toEqual([200, 502, 200]);
      // A reader that gets anything else fails on it.
      await send();
      await eventually(() => expect(printed).toBe('version 1\nversion 2\nversion 3\n'), TAKEN_MS);
    });
    const own = appended.filter((line) => line.startsWith(label));
    expect(own).toEqual(Array(3).fill(`${label}.payer-${payer.id}: PayerUpserted`));
  },
);
