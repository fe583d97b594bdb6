import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Duplex } from 'node:stream';
import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { ServiceError } from '../../platform/errors.ts';
import { measurements } from '../../platform/metrics/Measurements.ts';
import { sendAnswer } from './answer.ts';
import { errorAnswer, notHttp, statusOf } from './errorAnswer.ts';
import { commonHeaders } from './exchange.ts';
import { breakOff, isAnswered, isLongBody, tooSlow } from './requestBody.ts';

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
const LOOK_MS = 5_000;
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
export function createHttpServer(
  listener: RequestListener,
  logger: Logger,
  times: HttpTimes = httpTimes,
): Server {
  const options = {
    headersTimeout: times.headers,
    requestTimeout: times.request,
    connectionsCheckingInterval: Math.min(LOOK_MS, times.headers),
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
    if (req.headers.host === undefined && req.httpVersion === '1.1') refuse(req, res, notHttp());
    else listener(req, res);
  };
  const server = createServer(options, serve);
  server.timeout = times.stalled;
  server.on('checkContinue', serve);
  server.on('checkExpectation', (req, res) => refuse(req, res, unknownExpectation()));
  const failed = new WeakSet<Duplex>();
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
    // Node checks such a request only once; whatever reads its body has a time limit of its own.
    if (isLate && isLongBody(socket)) return;
    if (failed.has(socket)) return;
    failed.add(socket);
    refuseOn(socket, refusalOf(error), logger);
  });
  return server;
}

function refusalOf({ code }: NodeJS.ErrnoException): ServiceError {
  switch (code) {
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
