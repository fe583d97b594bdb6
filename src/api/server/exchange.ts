import type { IncomingMessage } from 'node:http';
import type { Request, Response } from 'express';
import type { Principal } from '../../domain/events/eventMetadata.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import type { FoundKey } from '../../modules/auth/KeyDirectory.ts';
import { isTraceparent } from '../../platform/traceparent.ts';
import type { Bodies } from './BodyBudget.ts';
import type { RequestLoad } from './RequestLoad.ts';

/** One request under way: what is known about it, and who sent it once that is known. */
export interface Exchange {
  req: Request;
  res: Response;
  /** UUIDv7; the response's `Request-Id`, and the id of the event that the request appends. */
  requestId: string;
  /** Headers of the response, whatever the outcome of the request: names and values alternate. */
  headers: string[];
  clientIp: string;
  told: ToldByClient;
  /** Bounds the bodies under way. */
  bodies: Bodies;
  /** Bounds the requests being worked on. */
  load: RequestLoad;
  /** Set when the request was admitted. */
  found: FoundKey | undefined;
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
const notPrintable = /[^\x20-\x7e]/g;

/** What a client says about itself and its request. */
export type ToldByClient = Pick<Caller, 'userAgent' | 'clientRequestId' | 'traceparent'>;

/** Returns what the client calls itself and its request, up to a reasonable length. */
export function toldByClient({ headers }: IncomingMessage): ToldByClient {
  const told: ToldByClient = {};
  const { 'user-agent': userAgent, 'x-request-id': sentId, traceparent } = headers;
  if (userAgent !== undefined) told.userAgent = userAgent.slice(0, MAX_USER_AGENT_LENGTH);
  if (sentId !== undefined) {
    const printable = String(sentId).replace(notPrintable, '').slice(0, MAX_REQUEST_ID_LENGTH);
    if (printable !== '') told.clientRequestId = printable;
  }
  if (traceparent !== undefined && isTraceparent(traceparent)) told.traceparent = traceparent;
  return told;
}

/** Returns the admitted sender of a request. */
export function callerOf(exchange: Exchange): Caller {
  const { found, principal, requestId, clientIp, told } = exchange;
  if (found === undefined) throw new Error('the request was not admitted');
  return {
    workspace: found.workspace.id,
    principal: principal ?? { type: 'api_key', id: found.key.id },
    requestId,
    clientIp,
    disclosedTo: found.key.terms,
    ...told,
  };
}
