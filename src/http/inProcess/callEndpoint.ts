import { finished } from 'node:stream/promises';
import type { Response } from 'express';
import type { ServiceError } from '../../errors.ts';
import type { Principal } from '../../events/eventMetadata.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import type { FoundKey } from '../../principals/keys/KeyDirectory.ts';
import { requireUsable } from '../server/admit.ts';
import { sendAnswer } from '../server/answer.ts';
import { asServiceError, errorAnswer } from '../server/errorAnswer.ts';
import { commonHeaders, type Exchange } from '../server/exchange.ts';
import { recordRefusal } from '../server/recordRefusal.ts';
import { requireKnownParameters } from '../server/requireKnownParameters.ts';
import type { ServedEndpoint } from '../server/serveEndpoint.ts';
import { HeldAnswer } from './HeldAnswer.ts';

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
