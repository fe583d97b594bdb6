import type { IncomingMessage } from 'node:http';
import type { Request, Response } from 'express';
import type { Caller } from '../commands/caller.ts';
import type { FoundKey } from '../keys/AccessDirectory.ts';
import type { Bodies } from './BodyBudget.ts';

/** One request under way: what is known of it, and who sent it once that is known. */
export interface Exchange {
  req: Request;
  res: Response;
  /** UUIDv7; the `Request-Id` of the answer, and the id of the event that the request appends. */
  requestId: string;
  /** Headers of the answer, whatever becomes of the request: names and values in turn. */
  headers: string[];
  clientIp: string;
  /** Bounds the bodies that are under way. */
  bodies: Bodies;
  /** Set when the request was admitted. */
  found: FoundKey | undefined;
  /** The body of an upsert, as it was sent, once it was read. */
  input: unknown;
}

/** Headers of every answer, names and values in turn. */
export function commonHeaders(requestId: string): string[] {
  return ['Request-Id', requestId, 'Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff'];
}

const MAX_USER_AGENT_LENGTH = 200;

/** What the client calls itself, cut to a bearable length. */
export function userAgentOf({ headers }: IncomingMessage): string | undefined {
  return headers['user-agent']?.slice(0, MAX_USER_AGENT_LENGTH);
}

/** The admitted sender of a request. */
export function callerOf(exchange: Exchange): Caller {
  const { found, requestId, clientIp, req } = exchange;
  if (found === undefined) throw new Error('the request was not admitted');
  const userAgent = userAgentOf(req);
  return {
    workspace: found.workspace.id,
    principal: { type: 'api_key', id: found.key.id },
    requestId,
    clientIp,
    ...(userAgent !== undefined && { userAgent }),
  };
}
