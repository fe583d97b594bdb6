import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { ServiceError, unavailable } from '../../../platform/errors.ts';
import type { OpenRetry } from '../../eventLog.ts';
import { Appender, TailLookup } from './append.ts';
import { DriverClient, hostsOf, loadDriver, type OpenDriver, optionOf } from './client.ts';
import { TIMEOUT_MS } from './drivers/driver.ts';
import { Erasures } from './erase.ts';
import { LogReader } from './read.ts';
import { LiveTail } from './subscribe.ts';

/** What all users of one URL share within a thread. */
export interface Connection {
  /**
   * For appends only. EventStoreDB's driver keeps the appends of all clients in one table, which it clears when the stream of any
   * of them breaks; if reads used the same client, one that is sent to another node would leave a second stream open.
   */
  appending: DriverClient;
  appender: Appender;
  reader: LogReader;
  erasures: Erasures;
  tail: LiveTail;
  /** The log's identity, and when it was asked for, on the monotonic clock. */
  identity?: { id: string; at: number };
  users: number;
}

const connections = new Map<string, Connection>();

/** Returns the connection to a URL, shared with its other users. Throws when the URL is not a connection string. */
function connect(open: OpenDriver, url: string): Connection {
  let connection = connections.get(url);
  if (connection === undefined) {
    const reader = new LogReader(new DriverClient(open, url));
    const appending = new DriverClient(open, url);
    const erasures = new Erasures(reader);
    const appender = new Appender(appending, new TailLookup(reader), erasures, reader.positions);
    const tail = new LiveTail(reader, erasures);
    connection = { appending, appender, reader, erasures, tail, users: 0 };
    connections.set(url, connection);
  }
  connection.users += 1;
  return connection;
}

/** Ends one use. Clients are disposed of when no connection is in use any more: disposing of one makes others' appends fail. */
export async function disconnect(connection: Connection): Promise<void> {
  connection.users -= 1;
  const all = [...connections.values()];
  if (all.some(({ users }) => users > 0)) return;
  connections.clear();
  await Promise.all(all.flatMap(({ appending, reader }) => [appending.close(), reader.client.close()]));
}

/**
 * Connects to the server at a URL. Rejects with `unavailable`, whose `problem` names the hosts, when no server answers within
 * `patience`, and immediately when the server denies access or cannot be trusted.
 */
export async function openConnection(url: string, patience?: OpenRetry): Promise<Connection> {
  const connection = connect(await loadDriver(url), url);
  try {
    await answered(connection, url, patience);
    return connection;
  } catch (error) {
    await disconnect(connection);
    throw error;
  }
}

/** OpenSSL's error codes for a certificate without a trusted issuer. */
const UNKNOWN_AUTHORITY = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
];

/** Returns why no server is found at a URL; `lasting`: waiting is pointless. */
async function startProblem(url: string): Promise<{ problem: string; lasting: boolean }> {
  const hosts = hostsOf(url);
  for (const host of optionOf(url, 'tls') === 'false' ? [] : hosts) {
    const problem = certificateProblem(host, await tlsError(host, optionOf(url, 'tlsCAFile')));
    if (problem !== undefined) return { problem, lasting: true };
  }
  return { problem: `The server of the event log does not answer at ${hosts.join(', ')}.`, lasting: false };
}

function certificateProblem(host: string, code: string | undefined): string | undefined {
  if (code === undefined) return undefined;
  if (UNKNOWN_AUTHORITY.includes(code)) {
    return `The certificate of ${host} is of an unknown certificate authority (${code}): name the file of the authority's certificate in EVENT_LOG_URL (tlsCAFile).`;
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `The certificate of ${host} is for another host (${code}).`;
  if (code.startsWith('CERT_')) return `The certificate of ${host} is not valid (${code}).`;
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') {
    return `${host} does not speak TLS (${code}): say so in EVENT_LOG_URL (tls=false), or turn TLS on there.`;
  }
  return undefined;
}

/**
 * Returns the code with which a TLS connection to a host fails, if it does. The driver does not report it when there are several
 * hosts.
 */
async function tlsError(address: string, caFile: string | undefined): Promise<string | undefined> {
  const [host = '', port] = address.split(':');
  const ca = caFile === undefined ? {} : { ca: readFileSync(caFile) };
  const socket = connectTls({ host, port: Number(port), ALPNProtocols: ['h2'], ...ca });
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  } finally {
    socket.on('error', () => undefined).destroy();
  }
}

/** The pause between attempts to reach the server at a start. */
const RETRY_MS = 2_000;
async function answered({ reader }: Connection, url: string, patience: OpenRetry | undefined): Promise<void> {
  const until = performance.now() + (patience?.ms ?? 0);
  for (;;) {
    try {
      await reader.head();
      return;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.problem !== undefined) throw error;
      const { problem, lasting } = await startProblem(url);
      if (lasting || performance.now() >= until) throw unavailable('event log', error.cause, problem);
      patience?.waiting(problem);
      await sleep(RETRY_MS);
    }
  }
}
