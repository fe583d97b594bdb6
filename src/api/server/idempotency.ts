import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../domain/events/newEvent.ts';
import { validationError } from '../../domain/records/schema/validation.ts';
import type { FoundKey } from '../../modules/auth/keyDirectory.ts';
import {
  type Reservation,
  type Reservations,
  StoredResponse,
} from '../../modules/idempotency/reservations.ts';
import { callerOf, type RequestContext } from './requestContext.ts';

/** The permitted form of an `Idempotency-Key`. */
export const idempotencyKeyForm = /^[\x20-\x7e]{1,255}$/;

/** Returns the `Idempotency-Key` of a request, as sent; undefined without one. Throws `validation_failed`. */
export function idempotencyKey(req: IncomingMessage): string | undefined {
  if (req.headers['idempotency-key'] === undefined) return undefined;
  const [key = '', ...more] = req.headersDistinct['idempotency-key'] ?? [];
  if (more.length === 0 && idempotencyKeyForm.test(key)) return key;
  throw validationError([
    { field: 'Idempotency-Key', message: 'must be sent once, as 1 to 255 printable ASCII characters' },
  ]);
}

export interface IdempotencyPorts {
  reservations: Reservations;
}

/**
 * Resolves with the result of `work`, a JSON value, for the first request with that `Idempotency-Key`: a repeat gets
 * the same without `work`, and its response says so. `work` must pass its caller on to what it appends, which looks
 * for what an earlier try appended (`findPreviousAppend`). Rejects as `Reservations.reserve` and `work` do.
 */
export async function withIdempotency<Result>(
  ports: IdempotencyPorts,
  context: RequestContext,
  key: string,
  body: unknown,
  work: (caller: Caller) => Promise<Result>,
): Promise<Result> {
  const payload = payloadOf(context.req, body);
  const reserved = await reserve(ports, context, key, payload);
  if (reserved instanceof StoredResponse) {
    return replay<Result>(context, reserved, payload);
  }
  return runReserved(context, reserved, work);
}

/**
 * Reserves an `Idempotency-Key` as `Reservations.reserve` does. It belongs to the sender: an API key and those that
 * replace it share it.
 */
export function reserve(
  { reservations }: IdempotencyPorts,
  context: RequestContext,
  key: string,
  payload?: object,
): Promise<Reservation | StoredResponse> {
  const { key: apiKey } = context.found as FoundKey;
  const principal = context.principal ?? { type: 'api_key', id: apiKey.sender };
  return reservations.reserve({ ...callerOf(context), principal }, key, payload);
}

/** Resolves with the result of `work`; only for the first request where an `Idempotency-Key` is sent (see `once`). */
export function withOptionalIdempotency<Result>(
  ports: IdempotencyPorts,
  context: RequestContext,
  body: unknown,
  work: (caller: Caller) => Promise<Result>,
): Promise<Result> {
  const key = idempotencyKey(context.req);
  return key === undefined ? work(callerOf(context)) : withIdempotency(ports, context, key, body, work);
}

/** Resolves with the result of `work` under a reservation, which ends with it. Rejects as `work` does. */
export async function runReserved<Result>(
  context: RequestContext,
  reservation: Reservation,
  work: (caller: Caller) => Promise<Result>,
): Promise<Result> {
  const { earlier } = reservation;
  try {
    const result = await work({ ...callerOf(context), earlier });
    await reservation.complete(result);
    if (earlier?.appended) markReplayed(context);
    return result;
  } catch (error) {
    await reservation.abandon(error);
    throw error;
  }
}

/**
 * Returns everything that makes two requests the same: method, path and query, conditions, and the body's content.
 */
export function payloadOf({ method, url, headers }: IncomingMessage, body: unknown): object {
  const { 'if-match': ifMatch = null, 'if-none-match': ifNoneMatch = null } = headers;
  return { method, url, ifMatch, ifNoneMatch, body: body ?? null };
}

/**
 * Returns the kept result, for a response that is marked as replayed. Throws `idempotency_key_reused` when the
 * payload is different.
 */
export function replay<Result>(context: RequestContext, kept: StoredResponse, payload: object): Result {
  const result = kept.resultFor(payload) as Result;
  markReplayed(context);
  return result;
}

/** Marks a response as that of an earlier request. */
export function markReplayed({ headers }: RequestContext): void {
  headers.push('Idempotent-Replayed', 'true');
}
