import { v7 as uuidv7 } from 'uuid';
import { sortMembers } from './canonicalJson.ts';
import type { DisclosureTerms } from './disclosureTerms.ts';
import type { JsonObject, NewEvent } from './event.ts';
import type { EventMetadata, EventSource, Principal } from './eventMetadata.ts';
import { makeSalt } from './makeSalt.ts';
import { currentVersion } from './upcast.ts';

/** Who asks, for which workspace, in which request. */
export interface Caller {
  workspace: string;
  principal: Principal;
  requestId: string;
  clientIp?: string;
  userAgent?: string;
  /** What the client calls its request: `X-Request-Id`. */
  clientRequestId?: string;
  /** The trace that the request is part of (W3C Trace Context). */
  traceparent?: string;
  /** The message of an EMR that it carries out. */
  source?: EventSource;
  /** To whom what is read goes, and why, as far as that was said: for the audit trail. */
  disclosedTo?: DisclosureTerms | undefined;
  /** The request was tried before, with an `Idempotency-Key`, and nobody knows what became of that. */
  earlier?: EarlierTry | undefined;
}

/** A try of a request that was cut off. Whoever appends the request's event first looks for it in the log. */
export interface EarlierTry {
  /** The id of the request's event, in every try. */
  readonly eventId: string;
  /** Whether it was found in the log. */
  appended: boolean;
}

/** Who changes keys, workspaces, users: not bound to one workspace, nor always to a request. */
export type Actor = Omit<Caller, 'workspace' | 'requestId'> & { requestId?: string };

/** The id of the one event of the caller's request: the request's own, or that which an earlier try of it chose. */
export function eventIdOf({ earlier, requestId }: Pick<Caller, 'earlier' | 'requestId'>): string {
  return earlier === undefined ? requestId : earlier.eventId;
}

/**
 * The one event of the caller's request: it bears the request's id, or that of its first try, so that either leads to the
 * other. Members of data and metadata are sorted, as in the text that the event's leaf covers.
 */
export function newEvent(caller: Caller, type: string, data: JsonObject): NewEvent {
  const { workspace, principal, requestId, clientIp, userAgent, clientRequestId, source, traceparent } =
    caller;
  // In the order in which they are sorted.
  const metadata: Partial<EventMetadata> = { $correlationId: requestId };
  if (clientIp !== undefined) metadata.clientIp = clientIp;
  if (clientRequestId !== undefined) metadata.clientRequestId = clientRequestId;
  metadata.principal = { id: principal.id, type: principal.type };
  metadata.requestId = requestId;
  metadata.salt = makeSalt();
  metadata.schemaVersion = currentVersion(type);
  if (source !== undefined) {
    const { configuration, id, message } = source;
    metadata.source = { ...(configuration !== undefined && { configuration }), id, message };
  }
  if (traceparent !== undefined) metadata.traceparent = traceparent;
  if (userAgent !== undefined) metadata.userAgent = userAgent;
  metadata.workspace = workspace;
  return { id: eventIdOf(caller), type, data: sortMembers(data), metadata: metadata as EventMetadata };
}

/**
 * An event of an actor's change in a workspace, or in `INSTALLATION`. It has an id of its own, as one request may make
 * several; without a request of the actor's the change counts as one.
 */
export function newActorEvent(actor: Actor, workspace: string, type: string, data: JsonObject): NewEvent {
  const { requestId = uuidv7() } = actor;
  return { ...newEvent({ ...actor, workspace, requestId }, type, data), id: uuidv7() };
}
