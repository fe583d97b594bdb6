import { formatPosition } from '../../modules/eventStream/position.ts';
import { type ErrorCode, ServiceError } from '../../platform/errors.ts';
import type { Answer } from './answer.ts';

/** The one table from error codes to HTTP statuses (spec section 7). */
export const statusOf: Record<ErrorCode, number> = {
  validation_failed: 400,
  malformed_body: 400,
  reference_not_found: 400,
  unauthorized: 401,
  key_deactivated: 403,
  key_expired: 403,
  address_not_allowed: 403,
  workspace_deactivated: 403,
  permission_denied: 403,
  not_found: 404,
  gone: 410,
  position_gone: 410,
  method_not_allowed: 405,
  not_acceptable: 406,
  request_timeout: 408,
  conflict: 409,
  idempotency_key_in_use: 409,
  version_conflict: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  expectation_failed: 417,
  idempotency_key_reused: 422,
  rate_limited: 429,
  headers_too_large: 431,
  internal: 500,
  overloaded: 503,
  unavailable: 503,
  unreadable: 503,
};

/** Whether the same request may be accepted later, as far as its refusal tells. */
export function isRetryable(code: ErrorCode): boolean {
  return statusOf[code] === 429 || statusOf[code] === 503;
}

/** Returns the refusal of what is not HTTP as the service speaks it. */
export function notHttp(cause?: unknown): ServiceError {
  return new ServiceError('validation_failed', 'The request is not valid HTTP for this service.', { cause });
}

/** Returns the error for failures of the service itself. */
export function internalError(cause?: unknown): ServiceError {
  return new ServiceError('internal', 'The service failed. Contact its operators and quote the request id.', {
    cause,
  });
}

/** Returns whatever was thrown as a `ServiceError`; any other error reveals nothing of itself to callers. */
export function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  // What Express and its router refuse (such as a path that is not valid percent-encoding) carries a 4xx status.
  const status = (error as { status?: unknown } | undefined)?.status;
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return notHttp(error);
  }
  return internalError(error);
}

/** Returns the response to a failed request: `{error, code, requestId}` and what the spec adds for some statuses. */
export function errorAnswer(error: ServiceError, requestId: string): Answer {
  const status = statusOf[error.code];
  const headers: Record<string, string> = {};
  if (error.retryAfterSeconds !== undefined) headers['Retry-After'] = String(error.retryAfterSeconds);
  if (error.version !== undefined) headers.ETag = `"${error.version}"`;
  if (status === 401) headers['WWW-Authenticate'] = 'Bearer realm="chartledger"';
  const body = {
    error: error.message,
    code: error.code,
    ...(error.details && { details: error.details }),
    ...(error.version !== undefined && { version: error.version }),
    ...(error.erasedAt !== undefined && { erased_at: error.erasedAt }),
    ...(error.lastPosition !== undefined && { last_position: formatPosition(error.lastPosition) }),
    ...(status === 401 && { statusCode: 401 }),
    ...(status === 429 && { retryAfter: error.retryAfterSeconds }),
    requestId,
  };
  return { status, headers, body };
}
