import { finished } from 'node:stream/promises';
import type { Response } from 'express';
import type { Principal } from '../../domain/events/eventMetadata.ts';
import type { FoundKey } from '../../modules/auth/KeyDirectory.ts';
import type { ServiceError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { requireUsable } from './admit.ts';
import { sendAnswer } from './answer.ts';
import { asServiceError, errorAnswer } from './errorAnswer.ts';
import { commonHeaders, type Exchange } from './exchange.ts';
import { HeldAnswer } from './HeldAnswer.ts';
import { recordRefusal } from './recordRefusal.ts';
import { requireKnownParameters } from './requireKnownParameters.ts';
import type { ServedEndpoint } from './serveEndpoint.ts';

/** Who calls, and what of the interface is open to them: as for a key. */
export interface InProcessCaller
  extends Pick<Exchange, 'req' | 'requestId' | 'clientIp' | 'told' | 'bodies' | 'load'> {
  principal: Principal;
  allowed: FoundKey;
}

/** The result of a call. */
export interface Called {
  answer: HeldAnswer;
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
  const answer = new HeldAnswer(most);
  const exchange: Exchange = {
    ...caller,
    res: answer as unknown as Response,
    headers: commonHeaders(caller.requestId),
    found: allowed,
    principal,
    input: undefined,
  };
  let error: ServiceError | undefined;
  try {
    const permissions = permission === 'public' || permission === 'key' ? [] : [permission].flat();
    requireUsable(allowed, permissions, caller.clientIp);
    if (query !== 'ignored') requireKnownParameters(caller.req.query, Object.keys(query?.shape ?? {}));
    await sendAnswer(exchange, await handle(exchange));
  } catch (thrown) {
    error = asServiceError(thrown);
    await recordRefusal(eventLog, served, exchange, error);
    if (!answer.headersSent) await sendAnswer(exchange, errorAnswer(error, caller.requestId));
  } finally {
    exchange.load.leave(exchange);
  }
  await finished(answer);
  return { answer, error };
}
