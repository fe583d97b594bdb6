import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Request, Response } from 'express';
import proxyAddr from 'proxy-addr';
import type { Principal } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import type { DisclosureTerms } from '../../domain/events/payloads.ts';
import { unknownNames, validationError } from '../../domain/records/schema/validation.ts';
import type { FoundKey } from '../../modules/auth/keyDirectory.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { BudgetShare } from '../../platform/threads/fairBudget.ts';
import { isTraceparent } from '../../platform/traceparent.ts';
import type { ByteRange } from '../../storage/documentStore.ts';
import type { Bodies, LoadShedder } from './loadShedder.ts';

/**
 * Returns whether a proxy is trusted, by its address and its number counted from here: by `TRUST_PROXY` hops, or
 * addresses and networks.
 */
export function proxyTrust(trustProxy: string): (address: string, hop: number) => boolean {
  if (!isHops(trustProxy)) return proxyAddr.compile(trustProxy.split(',').map((part) => part.trim()));
  const hops = Number(trustProxy);
  return (_address, hop) => hop < hops;
}

function isHops(trustProxy: string): boolean {
  return /^\d+$/.test(trustProxy);
}

/** Returns a function that determines a client's IP address behind trusted proxies. */
export function clientIpReader(trustProxy: string): (req: IncomingMessage) => string {
  const trust = proxyTrust(trustProxy);
  const isDirect = isHops(trustProxy) && Number(trustProxy) === 0;
  return (req) => {
    const address = isDirect ? (req.socket.remoteAddress ?? '') : forwardedAddress(req, trust);
    return plainAddress(address);
  };
}

/** Returns an IPv4 address in its plain form, also where the system reports it mapped into IPv6. */
export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address;
}

/**
 * Returns the client's address as reported by trusted proxies; where they pass on an invalid one, that of the last
 * proxy that reported one.
 */
function forwardedAddress(req: IncomingMessage, trust: ReturnType<typeof proxyTrust>): string {
  const reported = proxyAddr.all(req, trust);
  return reported.findLast((address) => isIP(address) !== 0 && !address.includes('%')) ?? '';
}

/** One request under way: what is known about it, and who sent it once that is known. */
export interface RequestContext {
  req: Request;
  res: Response;
  /** UUIDv7; the response's `Request-Id`, and the id of the event that the request appends. */
  requestId: string;
  /** Headers of the response, whatever the outcome of the request: names and values alternate. */
  headers: string[];
  clientIp: string;
  client: ClientMetadata;
  /** Bounds the bodies under way. */
  bodies: Bodies;
  /** Bounds the requests being worked on. */
  load: LoadShedder;
  /** What it holds of both until it is handled. */
  readonly held: BudgetShare[];
  /** Set when the request was admitted. */
  found: FoundKey | undefined;
  /** Throws the refusal of its key, if that, or the workspace, was changed since the request was admitted. */
  requireAdmitted(): void;
  /** Who sent it, where that is not the key. */
  principal?: Principal;
  /** The body of an upsert, as sent, once it was read. */
  input: unknown;
}

/** Returns the headers of every response; names and values alternate. */
export function commonHeaders(requestId: string): string[] {
  return ['Request-Id', requestId, 'Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff'];
}

const MAX_USER_AGENT_LENGTH = 200;
const MAX_REQUEST_ID_LENGTH = 128;
const MAX_STATEMENT_LENGTH = 200;
const notPrintable = /[^\x20-\x7e]/g;

/** What a client says about itself and its request. */
export type ClientMetadata = Pick<Caller, 'userAgent' | 'clientRequestId' | 'traceparent'>;

/** Returns what the client calls itself and its request, up to a reasonable length. */
export function clientMetadata({ headers }: IncomingMessage): ClientMetadata {
  const client: ClientMetadata = {};
  const { 'user-agent': userAgent, 'x-request-id': sentId, traceparent } = headers;
  if (userAgent !== undefined) client.userAgent = userAgent.slice(0, MAX_USER_AGENT_LENGTH);
  if (sentId !== undefined) {
    const printable = String(sentId).replace(notPrintable, '').slice(0, MAX_REQUEST_ID_LENGTH);
    if (printable !== '') client.clientRequestId = printable;
  }
  if (traceparent !== undefined && isTraceparent(traceparent)) client.traceparent = traceparent;
  return client;
}

/** Returns the terms of what a request reads: those of its key, with the statement that the request makes itself. */
function termsOf(
  { req: { headers } }: RequestContext,
  { key: { terms } }: FoundKey,
): DisclosureTerms | undefined {
  const stated = headers['purpose-statement'];
  if (stated === undefined) return terms;
  const statement = String(stated).replace(notPrintable, '').trim().slice(0, MAX_STATEMENT_LENGTH);
  return statement === '' ? terms : { ...terms, purpose_statement: statement };
}

/** Returns the admitted sender of a request. */
export function callerOf(context: RequestContext): Caller {
  const { found, principal, requestId, clientIp, client } = context;
  if (found === undefined) throw new Error('the request was not admitted');
  return {
    workspace: found.workspace.id,
    principal: principal ?? { type: 'api_key', id: found.key.id },
    requestId,
    clientIp,
    disclosedTo: termsOf(context, found),
    ...(found.workspace.reason === 'required' && { isReasonRequired: true }),
    ...client,
  };
}

/** Returns the refusal of a range that does not exist. */
export function rangeNotSatisfiable(): ServiceError {
  return new ServiceError('range_not_satisfiable', 'The document does not contain the requested bytes.');
}

/**
 * Returns the part that `Range` requests of a representation of `size` bytes (RFC 9110, section 14); undefined when
 * all of it is to be sent: without the header, for several parts or an unknown form, and when `If-Range` names
 * another version. Throws `range_not_satisfiable`, with `Content-Range` then giving the size.
 */
export function requestedRange(
  { req, headers }: Pick<RequestContext, 'req' | 'headers'>,
  size: number,
  etag: string,
): ByteRange | undefined {
  const ifRange = req.headers['if-range'];
  if (req.method !== 'GET' || req.headers.range === undefined) return undefined;
  if (ifRange !== undefined && ifRange !== etag) return undefined;
  const found = req.range(size, { combine: true });
  if (found === -1) {
    headers.push('Content-Range', `bytes */${size}`);
    throw rangeNotSatisfiable();
  }
  if (!Array.isArray(found) || found.type !== 'bytes' || found.length !== 1) return undefined;
  const [{ start, end } = { start: 0, end: size - 1 }] = found;
  return { start, end };
}

/**
 * Refuses a query that holds more than the known parameters, with a `validation_failed` that names both: ignoring
 * one, such as a misspelt filter, would show more than was asked for. One that repeats a parameter is refused, too.
 */
export function requireKnownParameters(query: object, known: readonly string[]): void {
  const unknown = Object.keys(query).filter((name) => !known.includes(name));
  // No parameter has several values: lists are separated by commas.
  const repeated = known.filter((name) => Array.isArray((query as Record<string, unknown>)[name]));
  if (unknown.length + repeated.length === 0) return;
  const takes = known.length === 0 ? 'takes none' : `takes ${known.join(', ')}`;
  throw validationError([
    ...unknownNames(unknown, `is not a known query parameter; this path ${takes}`),
    ...repeated.map((field) => ({ field, message: 'must be sent once' })),
  ]);
}
