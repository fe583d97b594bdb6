import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { report } from 'node:process';
import type { Duplex } from 'node:stream';
import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { validationError } from '../../domain/records/schema/validation.ts';
import { listeningAddress } from '../../platform/config.ts';
import { ServiceError, unavailable } from '../../platform/errors.ts';
import { measurements } from '../../platform/metrics/metrics.ts';
import {
  breakOff,
  errorAnswer,
  isAnswered,
  isLongBody,
  notHttp,
  sendAnswer,
  statusOf,
  tooSlow,
} from './answer.ts';
import { commonHeaders } from './requestContext.ts';

/**
 * File descriptors reserved for threads, stores, documents and webhooks: a quarter, or at least this many; a service
 * at rest has 70 open.
 */
const LEAST_RESERVE = 128;
const REPORT_INTERVAL_MS = 60_000;

/**
 * Keeps a server from taking the last file descriptors: without any, the system would silently end connections, and
 * stores would fail. Connections beyond that are refused and logged, at most once a minute.
 */
class RefusedConnections {
  readonly #logger: Logger;
  readonly #limits: { connections: number; fileDescriptors: number } | undefined;
  #refused = 0;
  #pause: NodeJS.Timeout | undefined;

  /** `threads`: servers of this process, each of which takes a share. */
  constructor(server: Server, threads: number, logger: Logger) {
    this.#logger = logger;
    const fileDescriptors = openFilesLimit();
    if (fileDescriptors === undefined) return;
    const reserve = Math.max(LEAST_RESERVE, Math.ceil(fileDescriptors / 4));
    server.maxConnections = Math.max(1, Math.floor((fileDescriptors - reserve) / threads));
    this.#limits = { connections: server.maxConnections, fileDescriptors };
    server.on('drop', () => this.#count());
  }

  close(): void {
    clearTimeout(this.#pause);
    this.#report();
  }

  #count(): void {
    this.#refused += 1;
    if (this.#pause !== undefined) return;
    this.#report();
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#report();
    }, REPORT_INTERVAL_MS).unref();
  }

  #report(): void {
    if (this.#refused === 0) return;
    const fields = { refused: this.#refused, ...this.#limits };
    this.#logger.error(fields, 'connections were refused: raise the limit of open files (ulimit -n)');
    this.#refused = 0;
  }
}

const LINUX_LIMITS = '/proc/self/limits';

/** Returns how many files this process may have open; undefined where that is not limited, or not known. */
function openFilesLimit(): number | undefined {
  // A report takes as long as loading a hundred modules.
  const limits = existsSync(LINUX_LIMITS) ? readFileSync(LINUX_LIMITS, 'utf8') : undefined;
  const soft = limits === undefined ? reportedOpenFiles() : /^Max open files +(\d+)/m.exec(limits)?.[1];
  return Number.isFinite(Number(soft)) ? Number(soft) : undefined;
}

function reportedOpenFiles(): number | string | undefined {
  // It would otherwise look up the names of the peers.
  Object.assign(report, { excludeNetwork: true });
  const { userLimits } = report.getReport() as { userLimits?: { open_files: { soft: number | string } } };
  return userLimits?.open_files.soft;
}

/** Times allowed on a connection, in milliseconds. */
export interface HttpTimes {
  /** For the headers of a request to arrive. */
  headers: number;
  /** For all of a request to arrive, except bodies that may take long. */
  request: number;
  /** How long a client may send nothing of an upload, or accept nothing of a response: then it is considered dead. */
  stalled: number;
}

const httpTimes: HttpTimes = { headers: 15_000, request: 30_000, stalled: 60_000 };
/** The longest interval between checks of connections against these times. */
const POLL_MS = 5_000;
/** How long a client has to read why it was refused before its connection is closed. */
const LINGER_MS = 2_000;

/** Returns the refusal of an unknown `Expect`. */
export function unknownExpectation(): ServiceError {
  return new ServiceError(
    'expectation_failed',
    'The only supported value of the Expect header is 100-continue.',
  );
}

/** Returns the refusal of headers larger than Node accepts. */
export function headersTooLarge(): ServiceError {
  return new ServiceError('headers_too_large', 'The headers of the request are larger than 16 KB.');
}

/**
 * Creates an HTTP server for a listener. What Node refuses before it reaches the listener is answered like all
 * errors, and logged: what is not HTTP, headers that are too large, a request that does not arrive in time, an
 * unknown `Expect`.
 */
function createHttpServer(listener: RequestListener, logger: Logger, times: HttpTimes = httpTimes): Server {
  const options = {
    headersTimeout: times.headers,
    requestTimeout: times.request,
    connectionsCheckingInterval: Math.min(POLL_MS, times.headers),
    // Node would answer without a body.
    requireHostHeader: false,
  };
  const refuse = (req: IncomingMessage, res: ServerResponse, error: ServiceError) => {
    const requestId = uuidv7();
    const headers = [...commonHeaders(requestId), 'Connection', 'close'];
    logRefusal(logger, error, requestId, req.method);
    return sendAnswer({ req: req as Request, res: res as Response, headers }, errorAnswer(error, requestId));
  };
  const serve: RequestListener = (req, res) => {
    // Nothing moved on the connection for so long. A response of which nothing waits for the client may take its time, and so may
    // a body that waits for the service.
    res.on('timeout', () => {
      if (res.writableLength > 0) res.destroy();
      else if (isLongBody(req.socket) && !req.complete && !req.isPaused()) breakOff(req, tooSlow());
    });
    const wrongHost = hostProblem(req);
    if (wrongHost) refuse(req, res, wrongHost);
    else listener(req, res);
  };
  const server = createServer(options, serve);
  server.timeout = times.stalled;
  server.on('checkContinue', serve);
  server.on('checkExpectation', (req, res) => refuse(req, res, unknownExpectation()));
  const failed = new WeakSet<Duplex>();
  // Node would end the connection without an answer.
  server.on('connect', (_req, socket) => refuseOn(socket, notImplemented(), logger));
  server.on('clientError', (error: ParseError, socket) => {
    const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
    // Node checks such a request only once; whatever reads its body has a time limit of its own.
    if (isLate && isLongBody(socket)) return;
    if (failed.has(socket)) return;
    failed.add(socket);
    refuseOn(socket, problemOf(error), logger);
  });
  return server;
}

/** A host and a port, or nothing (RFC 9110, section 7.2). */
const host = /^(?:\[[^\]\s]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/;

/** Returns the refusal of a request without a valid `Host`, or with several (RFC 9112, section 3.2). */
function hostProblem({ headers, httpVersion, rawHeaders }: IncomingMessage): ServiceError | undefined {
  let sent = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') sent += 1;
  }
  if (sent === 0 && httpVersion !== '1.1') return undefined;
  if (sent === 1 && host.test(headers.host as string)) return undefined;
  return validationError([{ field: 'Host', message: 'must be sent once, as a host and an optional port' }]);
}

/** Returns the refusal of a method that no path supports. */
export function notImplemented(): ServiceError {
  return new ServiceError('not_implemented', 'The service does not support this method.');
}

/** A request line of any method (RFC 9112, section 3). */
const requestLine = /^[\w!#$%&'*+.^`|~-]+ \S+ HTTP\/1\.[01]\r?$/;

/** Whether what was not understood is a well-formed request with an unknown method. */
function hasUnknownMethod({ rawPacket, bytesParsed = 0 }: ParseError): boolean {
  if (rawPacket === undefined) return false;
  const begin = rawPacket.lastIndexOf('\n', Math.max(0, bytesParsed - 1)) + 1;
  return requestLine.test(rawPacket.toString('latin1', begin).split('\n', 1)[0] as string);
}

interface ParseError extends NodeJS.ErrnoException {
  rawPacket?: Buffer;
  bytesParsed?: number;
}

function problemOf(error: ParseError): ServiceError {
  switch (error.code) {
    case 'HPE_INVALID_METHOD':
      return hasUnknownMethod(error) ? notImplemented() : notHttp();
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return tooSlow();
    case 'HPE_HEADER_OVERFLOW':
      return headersTooLarge();
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ServiceError('payload_too_large', 'The chunk extensions are larger than 16 KB.');
    default:
      return notHttp();
  }
}

/** Answers what could not be read on a connection, after the responses that it still waits for, and closes it. */
function refuseOn(socket: Duplex, error: ServiceError, logger: Logger): void {
  // Node's own response to such errors checks the same.
  const { _httpMessage: open } = socket as { _httpMessage?: ServerResponse };
  if (!socket.writable || open?.headersSent || isAnswered(socket)) {
    socket.destroy();
    return;
  }
  if (open?.req.complete) {
    open.once('finish', () => refuseOn(socket, error, logger));
    return;
  }
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
  if (open) {
    open.shouldKeepAlive = false;
    if (breakOff(open.req, error)) return;
  }
  const requestId = uuidv7();
  logRefusal(logger, error, requestId, open?.req.method);
  socket.end(rawAnswer(error, requestId));
}

/** Returns the response of `errorAnswer` as raw HTTP. */
function rawAnswer(error: ServiceError, requestId: string): string {
  const { status = 500, headers = {}, body } = errorAnswer(error, requestId);
  const text = JSON.stringify(body);
  const fields = [
    ...commonHeaders(requestId),
    ...Object.entries(headers).flat(),
    'Content-Type',
    'application/json; charset=utf-8',
    'Content-Length',
    `${Buffer.byteLength(text)}`,
    'Connection',
    'close',
  ];
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
  for (let at = 0; at < fields.length; at += 2) head += `${fields[at]}: ${fields[at + 1]}\r\n`;
  return `${head}\r\n${text}`;
}

function logRefusal(
  logger: Logger,
  { code }: ServiceError,
  requestId: string,
  method: string | undefined,
): void {
  measurements.counter('chartledger.request.refusals', { 'error.type': code }).add();
  logger.info({ method, route: 'unmatched', status: statusOf[code], code, requestId }, 'request');
}

export interface HttpServerSettings {
  host: string;
  /** 0: any free port. */
  port: number;
  /** Threads of this process that listen there. */
  requestThreads: number;
  /** How long an unused connection is kept open. */
  keepAliveSeconds: number;
  /** How long requests under way may take to finish when the server drains. */
  drainSeconds: number;
  /** The prefix of its settings' names: none, or `METRICS_`. */
  prefix?: string;
}

/**
 * Connections waiting to be accepted, as far as the system allows (`net.core.somaxconn`). Node's default is 511: a
 * client that finds no room in a burst hears nothing, and tries again after one, three and seven seconds.
 */
const BACKLOG = 4_096;

/** The HTTP server of the service. */
export class HttpServer {
  readonly #server: Server;
  readonly #settings: HttpServerSettings;
  readonly #refused: RefusedConnections;
  readonly #connections = new Set<Socket>();

  private constructor(server: Server, settings: HttpServerSettings, logger: Logger) {
    this.#server = server;
    this.#settings = settings;
    this.#refused = new RefusedConnections(server, settings.requestThreads, logger);
    server.on('connection', (socket) => {
      this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
    });
  }

  /**
   * For use where several threads are to listen: rejects as `listen` does when something already listens there, which
   * the system would otherwise let them share.
   */
  static async requireFree(settings: HttpServerSettings): Promise<void> {
    const server = createServer();
    await listening(server, settings, false);
    server.close();
    await once(server, 'close');
  }

  /** Listens; rejects with `unavailable`, whose `problem` names the address and what to do. */
  static async listen(
    listener: RequestListener,
    settings: HttpServerSettings,
    logger: Logger,
    times?: HttpTimes,
  ): Promise<HttpServer> {
    const { keepAliveSeconds, requestThreads } = settings;
    const server = createHttpServer(listener, logger, times);
    server.keepAliveTimeout = keepAliveSeconds * 1_000;
    await listening(server, settings, requestThreads > 1);
    return new HttpServer(server, settings, logger);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Where it listens, as a client on this machine reaches it: `http://127.0.0.1:3000`. */
  get url(): string {
    return listeningAddress(this.#settings.host, this.port);
  }

  /** Accepts no more connections; resolves when the last one has ended, or was ended because its time was up. */
  async drain(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeIdleConnections();
    // To Node, a connection on which nothing has come yet is one with a request: browsers keep such connections for later.
    for (const socket of this.#connections) if (socket.bytesRead === 0) socket.destroy();
    const force = setTimeout(() => this.#server.closeAllConnections(), this.#settings.drainSeconds * 1_000);
    await closed;
    clearTimeout(force);
    this.#refused.close();
  }
}

/** Resolves when the server listens, with `reusePort` alongside other threads. */
async function listening(server: Server, settings: HttpServerSettings, reusePort: boolean): Promise<void> {
  const { host, port } = settings;
  server.listen({ host, port, reusePort, backlog: BACKLOG });
  await once(server, 'listening').catch((error) => {
    throw unavailable('address', error, listenProblem(settings, error));
  });
}

function listenProblem(
  { host, port, prefix = '' }: HttpServerSettings,
  { code }: NodeJS.ErrnoException,
): string {
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  switch (code) {
    case 'EADDRINUSE':
      return `${address} is in use by another process. Set ${prefix}PORT to another port.`;
    case 'EACCES':
      return `${address} needs privileges. Set ${prefix}PORT to 1024 or more.`;
    case 'ENOTSUP':
      return 'This system does not let threads share a port. Set REQUEST_THREADS to 1.';
    default:
      return `${host} is not an address of this machine (${code}). Set ${prefix}HOST to one that is, without brackets: 127.0.0.1, ::1, or 0.0.0.0 for all.`;
  }
}
