import { ServiceError } from '../../platform/errors.ts';

/** The error for a key whose first request is under way. */
export function keyInUse(): ServiceError {
  return new ServiceError(
    'idempotency_key_in_use',
    'The first request with this Idempotency-Key is still in progress. Send the same request again in a moment.',
    { retryAfterSeconds: 1 },
  );
}

/** The error for a key whose first request was a different one. */
export function keyReused(): ServiceError {
  return new ServiceError(
    'idempotency_key_reused',
    'This Idempotency-Key was sent with a different request within the last 24 hours. Use a different key for this request.',
  );
}

/** The error for a payload that cannot be compared with those of its repeats. */
export function nestedTooDeeply(): ServiceError {
  return new ServiceError(
    'malformed_body',
    'The body is nested too deeply for a request with an Idempotency-Key.',
  );
}
