import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { ServiceError } from '../../platform/errors.ts';

/** Slow links may take long for 250 MB. */
const LONG_BODY_MS = 3_600_000;

/** Bytes of a refused body that are read and discarded, so that the client gets to read why. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;
/** One read of a connection brings up to this many. */
const BYTES_PER_TURN = 64 * 1024;
/** Event of a request: no more of its body will arrive, and the reason is a `ServiceError`. */
export const BROKEN_OFF = 'brokenOff';

/** Connections whose request was answered before all of its body had arrived. */
const answered = new WeakSet<Duplex>();
/** Connections on which a body is streamed that may take long. */
const longBodies = new WeakSet<Duplex>();

/** Returns the refusal of a request that does not arrive in time. */
export function tooSlow(): ServiceError {
  return new ServiceError('request_timeout', 'The request did not arrive in time. Send it again.');
}

/**
 * Asks a client for the body that it holds back until asked (`Expect: 100-continue`): everything that can be checked
 * before has been.
 */
export function inviteBody(req: IncomingMessage, res: ServerResponse): void {
  if (req.headers.expect !== undefined && req.httpVersionMinor === 1) res.writeContinue();
}

/** Whether the body on a connection may take long. */
export function isLongBody(connection: Duplex): boolean {
  return longBodies.has(connection);
}

/** Lets the body of a request take an hour while `work` reads it; others have seconds. */
export async function withLongBody<Result>(
  req: IncomingMessage,
  work: () => Promise<Result>,
): Promise<Result> {
  const { socket } = req;
  longBodies.add(socket);
  const timer = setTimeout(() => breakOff(req, tooSlow()), LONG_BODY_MS);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
    longBodies.delete(socket);
  }
}

/**
 * Tells the reader of a request's body, who then answers the request, that no more will arrive; false when nobody is
 * reading.
 */
export function breakOff(req: IncomingMessage, reason: ServiceError): boolean {
  return req.emit(BROKEN_OFF, reason);
}

/**
 * Lets through at most `BYTES_PER_TURN` of a body, and what one read brings, in each turn of the event loop. Node would read
 * 2 MB of each connection that has as much, and the other requests would wait for all of that.
 */
export function letOthersIn(body: Readable): void {
  let bytes = 0;
  body.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes < BYTES_PER_TURN) return;
    bytes = 0;
    body.pause();
    setImmediate(() => body.resume());
  });
}

/** Reads and discards what is left of the body of an answered request, up to a bound. */
export function discardBody(req: IncomingMessage): void {
  const { socket } = req;
  let discarded = 0;
  answered.add(socket);
  req.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > MAX_DISCARDED_BYTES) req.destroy();
  });
  letOthersIn(req);
  req.on('end', () => answered.delete(socket));
  req.on('error', () => undefined);
  req.resume();
}

/** Whether the request that is still arriving on a connection has already been answered. */
export function isAnswered(connection: Duplex): boolean {
  return answered.has(connection);
}

/** Gathers bytes that arrive in pieces. Keeping the pieces themselves would take a hundred times their size where they are small. */
export class GatheredBytes {
  #buffer = Buffer.alloc(0);
  #length = 0;

  /** The number of bytes gathered. */
  get length(): number {
    return this.#length;
  }

  add(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#buffer.length));
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    this.#buffer.set(piece, this.#length);
    this.#length = length;
  }

  /** Returns what was gathered, and holds nothing afterwards. */
  take(): Buffer {
    const whole = this.#buffer.subarray(0, this.#length);
    const bytes = 4 * this.#length > 3 * this.#buffer.length ? whole : Buffer.from(whole);
    this.#buffer = Buffer.alloc(0);
    this.#length = 0;
    return bytes;
  }
}
