import { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import express, { type Request, type Response } from 'express';
import type { Principal } from '../../domain/events/event.ts';
import type { FoundKey } from '../../modules/auth/keyDirectory.ts';
import type { ServiceError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { requireUsable } from './admission.ts';
import { asServiceError, errorAnswer, sendAnswer } from './answer.ts';
import { recordRefusal, type ServedEndpoint } from './dispatch.ts';
import { commonHeaders, type RequestContext, requireKnownParameters } from './requestContext.ts';

/** A response that is kept in memory instead of being sent; of a long one, the beginning. */
export class InMemoryResponse extends Writable {
  statusCode = 200;
  headersSent = false;
  shouldKeepAlive = true;
  /** Whether the body was longer than what is kept. */
  isCut = false;
  readonly #most: number;
  readonly #chunks: Buffer[] = [];
  #length = 0;
  #headers: string[] = [];

  /** `most`: bytes of the body that are kept. */
  constructor(most: number) {
    super();
    this.#most = most;
  }

  /** As in `ServerResponse`; names and values alternate. */
  writeHead(status: number, headers: string[]): this {
    this.statusCode = status;
    this.#headers = headers;
    this.headersSent = true;
    return this;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    const kept = chunk.subarray(0, this.#most - this.#length);
    if (kept.length < chunk.length) this.isCut = true;
    this.#chunks.push(kept);
    this.#length += kept.length;
    done();
  }

  /** Returns the value of a header, by its name in any case. */
  header(name: string): string | undefined {
    const at = this.#headers.findIndex(
      (one, index) => index % 2 === 0 && one.toLowerCase() === name.toLowerCase(),
    );
    return at === -1 ? undefined : this.#headers[at + 1];
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString();
  }
}

/** Who calls, and what of the interface is open to them: as for a key. */
interface InProcessCaller
  extends Pick<RequestContext, 'req' | 'requestId' | 'clientIp' | 'client' | 'bodies' | 'load'> {
  principal: Principal;
  allowed: FoundKey;
}

/** The result of a call. */
interface Called {
  answer: InMemoryResponse;
  /** Why it was refused, or failed. */
  error: ServiceError | undefined;
}

/**
 * Calls an endpoint for somebody who was admitted by other means than a key: with the same checks, handler and audit
 * trail entries. Keeps `most` bytes of the response. Rejects with `unavailable` when a refusal cannot be recorded.
 */
export async function callEndpoint(
  eventLog: EventLog,
  served: ServedEndpoint,
  { principal, allowed, ...caller }: InProcessCaller,
  most: number,
): Promise<Called> {
  const { permission, query, handle } = served;
  const answer = new InMemoryResponse(most);
  const context: RequestContext = {
    ...caller,
    res: answer as unknown as Response,
    headers: commonHeaders(caller.requestId),
    held: [],
    found: allowed,
    requireAdmitted: () => undefined,
    principal,
    input: undefined,
  };
  let error: ServiceError | undefined;
  try {
    const permissions = permission === 'public' || permission === 'key' ? [] : [permission].flat();
    requireUsable(allowed, permissions, caller.clientIp);
    if (query !== 'ignored') requireKnownParameters(caller.req.query, Object.keys(query?.shape ?? {}));
    await sendAnswer(context, await handle(context));
  } catch (thrown) {
    error = asServiceError(thrown);
    await recordRefusal(eventLog, served, context, error);
    if (!answer.headersSent) await sendAnswer(context, errorAnswer(error, caller.requestId));
  } finally {
    context.load.leave(context);
  }
  await finished(answer);
  return { answer, error };
}

/** A request that nobody sent over the network. */
export interface InjectedRequest {
  method: string;
  /** The path with its query, as it would be sent. */
  url: string;
  /** Decoded, by name. */
  params: Record<string, string>;
  query: Record<string, string>;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string | undefined;
}

/**
 * Returns that request in the form that endpoints read; `sender` is the request that made it, whose connection and
 * address it shares.
 */
export function injectedRequest(held: InjectedRequest, sender: Request): Request {
  const { method, url, params, query, headers, body } = held;
  const bytes = body === undefined ? [] : [Buffer.from(body)];
  const all = {
    ...headers,
    ...(sender.headers.host !== undefined && { host: sender.headers.host }),
    ...(bytes[0] && { 'content-length': String(bytes[0].length) }),
    'accept-encoding': 'identity',
  };
  return Object.assign(Readable.from(bytes, { objectMode: false }), {
    ...{ method, url, originalUrl: url, params, query, headers: all },
    headersDistinct: Object.fromEntries(Object.entries(all).map(([name, value]) => [name, [value]])),
    ...{ complete: true, httpVersion: '1.1', socket: sender.socket, protocol: sender.protocol },
    ...{ get: express.request.get, accepts: express.request.accepts },
  }) as unknown as Request;
}
