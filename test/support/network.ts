import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import {
  createServer as createHttp2Server,
  createSecureServer,
  type Http2Server,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { destination } from 'pino';
import type { ConnectionTimes } from '../../src/api/mllp/connection.ts';
import type { MllpSettings } from '../../src/platform/config.ts';
import { createLogger } from '../../src/platform/logging.ts';
import { SharedFlag } from '../../src/platform/threads/semaphore.ts';
import { startMllp } from '../../src/server/mllp.ts';
import { openStores } from '../../src/server/requestServer.ts';
import { systemClock } from '../../src/storage/rateLimiters.ts';
import { outputFolder } from './output.ts';
import { type Faults, type TestService, withFaults } from './service.ts';

/**
 * What befalls a request: it is refused with a status and asked to come again in a second; it does not arrive; or it arrives, and
 * its answer is lost or breaks off.
 */
export type Fault = 429 | 500 | 503 | 'cut before' | 'cut after' | 'cut amid';

/** A way to a service, which may be elsewhere for every request, on which `faultOf` a request, from 0 on, may befall it. */
export async function flakyNetwork(
  to: () => string,
  faultOf: (number: number, request: IncomingMessage) => Fault | undefined = () => undefined,
) {
  const requests: IncomingMessage[] = [];
  const server = createServer((req, res) => {
    const fault = faultOf(requests.length, req);
    requests.push(req);
    if (typeof fault === 'number') {
      const body = {
        error: 'Not now.',
        code: fault === 429 ? 'rate_limited' : 'unavailable',
        requestId: '-',
      };
      const headers = { 'retry-after': '1', 'content-type': 'application/json' };
      return req.resume().on('end', () => res.writeHead(fault, headers).end(JSON.stringify(body)));
    }
    if (fault === 'cut before') return res.destroy();
    const { method, headers } = req;
    const onward = request(new URL(req.url as string, to()), { method, headers }, (answer) => {
      if (fault !== 'cut after') res.writeHead(answer.statusCode as number, answer.headers);
      if (fault === undefined) {
        answer.on('error', () => res.destroy());
        return answer.pipe(res);
      }
      if (fault === 'cut amid') res.write('{');
      return answer.resume().on('end', () => res.destroy());
    });
    onward.on('error', () => res.destroy());
    res.on('close', () => onward.destroy());
    return req.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** All that set out on it. */
    requests,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A batch as it came in, with how many requests came before it. */
interface Received {
  lines: { kind: string; record: { id: string; name?: string } }[];
  key: string | undefined;
  number: number;
}

/** What a line is answered with: accepted, or with what its result says. */
type LineAnswer = 'accept' | { status: number; [field: string]: unknown };

type Answer =
  | { status: number; body: unknown; headers?: Record<string, string> }
  | { lines: LineAnswer[]; isCutOff?: boolean }
  | { status: 200; text: string }
  | 'hang up'
  | 'accept';

/** A stand-in for a service that answers batches as `answer` says, and keeps what it accepted. */
export async function startFakeService(answer: (received: Received) => Answer) {
  const accepted: string[] = [];
  const keys = new Set<string | undefined>();
  let number = 0;
  function resultsOf(received: Received, { lines, isCutOff }: { lines: LineAnswer[]; isCutOff?: boolean }) {
    const results = received.lines.map(({ kind, record }, index) => {
      const told = lines[index] ?? 'accept';
      if (told !== 'accept') return { line: index + 1, kind, id: record.id, ...told };
      accepted.push(record.id);
      return {
        line: index + 1,
        kind,
        id: record.id,
        status: 200,
        outcome: 'created',
        version: 1,
        warnings: [],
      };
    });
    const told = isCutOff ? results.slice(0, 1) : [...results, { summary: { lines: results.length } }];
    return told.map((line) => `${JSON.stringify(line)}\n`).join('');
  }
  async function handle(req: IncomingMessage, res: ServerResponse) {
    const text = gunzipSync(await buffer(req)).toString();
    const lines = text.split('\n').slice(0, -1);
    const key = req.headers['idempotency-key'] as string | undefined;
    const received = { lines: lines.map((line) => JSON.parse(line)), key, number: number++ };
    const chosen = answer(received);
    if (chosen === 'hang up') return req.socket.destroy();
    if (chosen === 'accept' || 'lines' in chosen) {
      const isRepeat = keys.has(key);
      keys.add(key);
      res.writeHead(200, {
        'content-type': 'application/x-ndjson',
        ...(isRepeat && { 'idempotent-replayed': 'true' }),
      });
      return res.end(resultsOf(received, chosen === 'accept' ? { lines: [] } : chosen));
    }
    if ('text' in chosen) return res.end(chosen.text);
    const { status, body, headers } = chosen;
    res.writeHead(status, { 'content-type': 'application/json', ...headers });
    return res.end(JSON.stringify(body));
  }
  const server = createServer(handle);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    accepted,
    requests: () => number,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A listener of MLLP over a service's stores, whose ports have faults, with settings of its own. */
export async function startFaultyMllp(
  service: TestService,
  faults: Faults,
  { times, ...settings }: Partial<MllpSettings> & { times?: ConnectionTimes } = {},
): Promise<{ port: number; stop(): Promise<void> }> {
  const stops: (() => unknown)[] = [];
  const stores = await openStores(service.config, {
    step: (work) => work,
    stops,
    eventLog: {},
    awaited: new SharedFlag(),
    counts: undefined,
    clock: systemClock,
  });
  const faulty = {
    ...stores,
    eventLog: withFaults(stores.eventLog, faults.eventLog),
    stateStore: withFaults(stores.stateStore, faults.stateStore),
    documentStore: withFaults(stores.documentStore, faults.documentStore),
  };
  const logger = createLogger(
    'trace',
    destination({ dest: `${outputFolder}/logs/${process.pid}.log`, sync: true }),
  );
  const mllp = { ...service.config.mllp, ports: [0], ...settings };
  const role = await startMllp({ ...service.config, mllp }, logger, faulty, times);
  return {
    port: role.ports[0] as number,
    async stop() {
      await role.stop();
      for (const stop of stops.reverse()) await stop();
    },
  };
}

/**
 * Puts a file in a place that does not answer whoever opens it, as on a disk that hangs, until the returned function is called. It
 * is a pipe, which waits for its other end.
 */
export function hangFile(path: string): () => void {
  const pipe = `${path}.pipe`;
  execFileSync('mkfifo', [pipe]);
  renameSync(pipe, path);
  return () => {
    const ends = openSync(path, constants.O_RDWR);
    rmSync(path);
    closeSync(ends);
  };
}

const UNIMPLEMENTED: OutgoingHttpHeaders = { 'content-type': 'application/grpc', 'grpc-status': '12' };
const PERMISSION_DENIED = {
  ...{ 'content-type': 'application/grpc', 'grpc-status': '7' },
  ...{ 'grpc-message': 'Access Denied', exception: 'access-denied' },
};

const STREAM_DELETED = {
  ...{ 'content-type': 'application/grpc', 'grpc-status': '9' },
  ...{ 'grpc-message': 'Deleted', exception: 'stream-deleted', 'stream-name': 'deleted' },
};

/** How a server of EventStoreDB answers who may not come in, who may not read `$all`, and who uses a deleted stream. */
export const refusals = {
  password: { ':status': 401 },
  permission: PERMISSION_DENIED,
  deleted: STREAM_DELETED,
};

interface RefusingServer {
  /** `localhost:PORT`: certificates are for names. */
  host: string;
  close(): Promise<void>;
}

/** A server that answers what a client asks before it starts, and refuses all else. */
export async function refusingServer(refusal: OutgoingHttpHeaders, tls = false): Promise<RefusingServer> {
  const server: Http2Server = tls ? createSecureServer(certificate()) : createHttp2Server();
  server.on('stream', (stream, headers) => {
    const asksFeatures = headers[':path']?.includes('ServerFeatures');
    stream.respond(asksFeatures ? UNIMPLEMENTED : refusal, { endStream: true });
  });
  server.on('sessionError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    host: `localhost:${port}`,
    async close() {
      server.close();
    },
  };
}

/** A certificate that no authority vouches for. */
function certificate() {
  const [key, cert] = ['key', 'crt'].map((kind) => readFileSync(`test/fixtures/tls/receiver.${kind}`));
  return { key, cert };
}

/** A way to a server that can be frozen, as a stopped process is, or cut. */
export interface TcpProxy {
  host: string;
  port: number;
  /** Connections are taken, and nothing comes through. */
  freeze(): void;
  /** Connections are broken off, and new ones are broken off at once. */
  cut(): void;
  /** Connections are broken off with a reset, of which the client hears when it next writes; new ones are well. */
  reset(): void;
  /** All is well again; what was sent to a frozen one comes through. */
  restore(): void;
  close(): Promise<void>;
}

/** Starts a proxy on a port of its own. */
export async function tcpProxy(to: { host: string; port: number }): Promise<TcpProxy> {
  let state: 'well' | 'frozen' | 'cut' = 'well';
  const links = new Map<Socket, Socket>();
  const link = (from: Socket, into: Socket) => {
    links.set(from, into);
    from
      .on('error', () => undefined)
      .on('close', () => {
        links.delete(from);
        into.destroy();
      });
    if (state === 'well') from.pipe(into);
  };
  const server = createTcpServer((client) => {
    if (state === 'cut') return client.destroy();
    const upstream = connect(to.port, to.host);
    link(client, upstream);
    link(upstream, client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    freeze() {
      state = 'frozen';
      for (const from of links.keys()) from.unpipe();
    },
    cut() {
      state = 'cut';
      for (const from of links.keys()) from.destroy();
    },
    reset() {
      for (const from of links.keys()) from.resetAndDestroy();
    },
    restore() {
      if (state === 'frozen') for (const [from, into] of links) from.pipe(into);
      state = 'well';
    },
    async close() {
      for (const from of links.keys()) from.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
