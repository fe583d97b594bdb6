import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { sortMembers } from './canonicalJson.ts';
import type { EventMetadata, EventSource, JsonObject, NewEvent, Principal } from './event.ts';
import type { DisclosureTerms } from './payloads.ts';
import { currentVersion } from './upcasting.ts';

const SALT_BYTES = 16;
const DIGITS = 2 * SALT_BYTES;
/**
 * Number of salts for which random bytes are requested and formatted at a time: requesting them takes longer than generating
 * them.
 */
const SALTS = 256;

let pool = '';
let used = 0;

/** Returns 16 random bytes in hex, so that the leaf of an erased event reveals nothing about it. */
function makeSalt(): string {
  if (used === pool.length) {
    pool = randomBytes(SALTS * SALT_BYTES).toString('hex');
    used = 0;
  }
  used += DIGITS;
  return pool.slice(used - DIGITS, used);
}

/** Who makes a request, for which workspace, and in which request. */
export interface Caller {
  workspace: string;
  principal: Principal;
  requestId: string;
  clientIp?: string;
  userAgent?: string;
  /** The client's id for its request: `X-Request-Id`. */
  clientRequestId?: string;
  /** The trace that the request is part of (W3C Trace Context). */
  traceparent?: string;
  /** The id of the event that the request undoes. */
  reverts?: string;
  /** The EMR message that the request carries out. */
  source?: EventSource;
  /** Recipient and purpose of the data read, as far as stated: for the audit trail. */
  disclosedTo?: DisclosureTerms | undefined;
  /** Whether nothing may be read without a statement of its purpose. */
  isReasonRequired?: boolean | undefined;
  /** Set if the request was tried before, with an `Idempotency-Key`, and the outcome of that is unknown. */
  earlier?: EarlierTry | undefined;
}

/** An interrupted try of a request. Code that appends the request's event looks for it in the log first. */
export interface EarlierTry {
  /** The id of the request's event, in every try. */
  readonly eventId: string;
  /** Whether it was found in the log. */
  appended: boolean;
}

/** Who changes keys, workspaces or users: not bound to one workspace, nor always to a request. */
export type Actor = Omit<Caller, 'workspace' | 'requestId'> & { requestId?: string };

/** Returns the id of the single event of the caller's request: the request's own id, or the one chosen by an earlier try. */
export function eventIdOf({ earlier, requestId }: Pick<Caller, 'earlier' | 'requestId'>): string {
  return earlier === undefined ? requestId : earlier.eventId;
}

/**
 * Creates the single event of the caller's request. It has the request's id, or that of its first try, so that either leads to
 * the other. Members of data and metadata are sorted, as in the text covered by the event's leaf.
 */
export function newEvent(caller: Caller, type: string, data: JsonObject): NewEvent {
  const {
    workspace,
    principal,
    requestId,
    clientIp,
    userAgent,
    clientRequestId,
    reverts,
    source,
    traceparent,
  } = caller;
  // In sorted order.
  const metadata: Partial<EventMetadata> = { $correlationId: requestId };
  if (clientIp !== undefined) metadata.clientIp = clientIp;
  if (clientRequestId !== undefined) metadata.clientRequestId = clientRequestId;
  metadata.principal = { id: principal.id, type: principal.type };
  metadata.requestId = requestId;
  if (reverts !== undefined) metadata.reverts = reverts;
  metadata.salt = makeSalt();
  metadata.schemaVersion = currentVersion(type);
  if (source !== undefined) {
    const { configuration, id, message } = source;
    metadata.source = { ...(configuration !== undefined && { configuration }), id, message };
  }
  if (traceparent !== undefined) metadata.traceparent = traceparent;
  if (userAgent !== undefined) metadata.userAgent = userAgent;
  metadata.workspace = workspace;
  const event: NewEvent = {
    id: eventIdOf(caller),
    type,
    data: sortMembers(data),
    metadata: metadata as EventMetadata,
  };
  return caller.earlier === undefined ? event : { ...event, isRepeat: true };
}

/**
 * Creates an event for an actor's change in a workspace, or in `INSTALLATION`. It has its own id, as one request may cause
 * several events; without a request, the change counts as one.
 */
export function newActorEvent(actor: Actor, workspace: string, type: string, data: JsonObject): NewEvent {
  const { requestId = uuidv7() } = actor;
  return { ...newEvent({ ...actor, workspace, requestId, earlier: undefined }, type, data), id: uuidv7() };
}
