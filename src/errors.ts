import { measurements } from './metrics/Measurements.ts';

/**
 * Every reason for which the service refuses or fails a piece of work, with what it means to the caller. HTTP
 * statuses are in `statusOf`.
 */
export const errorMeanings = {
  validation_failed: 'A field, parameter or path is not valid; `details` names each. Correct the request.',
  malformed_body: 'The body is broken or incomplete. Correct the request.',
  reference_not_found:
    'The record refers to records that do not exist; `details` names them all. Send those first.',
  unauthorized: 'There is no API key, or it is unknown or deleted. Send a valid one.',
  key_deactivated: 'The API key is deactivated until an administrator activates it.',
  key_expired: 'The API key has expired. An administrator makes another one, or sets a later end.',
  address_not_allowed: 'The API key is not taken from the address that the request came from.',
  workspace_deactivated: 'The workspace of the API key is deactivated until an administrator activates it.',
  permission_denied: 'The API key lacks the permission that this request needs.',
  gone: 'What the path names was erased; `erased_at` says when. Its id may be used again.',
  position_gone:
    'The event log was put back to an earlier state, and the position is none of it any more; `last_position` is the last one before. Go on from there: what you have read behind it was lost.',
  not_found: 'The path or what it names does not exist in the workspace of the key.',
  method_not_allowed: 'The path does not know this method; the header `Allow` names those that it knows.',
  not_acceptable: 'The service has no form of the answer that `Accept` allows.',
  request_timeout: 'The request did not arrive in time. Send it again.',
  conflict: 'What the request names is in a state that does not allow it, such as a disabled webhook.',
  idempotency_key_in_use:
    'The first request with this `Idempotency-Key` is still under way. Send the same request again in a moment.',
  idempotency_key_reused:
    'The `Idempotency-Key` was sent with another request within the last 24 hours. Send a key of its own.',
  version_conflict:
    'The record is not as `If-Match`, `If-None-Match` or a `version` in the body asks for; `version` and `ETag` are the current ones.',
  payload_too_large: 'The body or file is too large.',
  unsupported_media_type:
    'The body has a `Content-Type` or `Content-Encoding` that this request does not take.',
  range_not_satisfiable: 'The file does not have the bytes that `Range` asks for.',
  expectation_failed: '`Expect` asks for something other than `100-continue`.',
  rate_limited:
    'Too many requests came from one address, or with a key that has a limit of its own. Wait as long as `Retry-After` says.',
  headers_too_large: 'The headers of the request are larger than 16 KB.',
  internal: 'The service failed. Quote `requestId` to its operators.',
  overloaded:
    'Too many requests, or bodies of requests, are under way, or too many requests wait for records. Try again in a moment.',
  unavailable:
    'A store of the service is away. Try again; an event is written once, however often the request is sent.',
  unreadable:
    'A newer version of the service wrote what was asked for. Try again when the upgrade is through.',
} as const;

export type ErrorCode = keyof typeof errorMeanings;

/** One complaint or remark about one field; `field` is dotted (`primary_insurance.payer_id`). */
export interface FieldMessage {
  field: string;
  message: string;
}

/** A field that refers to a record that does not exist; the spec asks for its kind and id (4.1, 4.5). */
export interface MissingReference extends FieldMessage {
  kind: string;
  id: string;
  code: 'reference_not_found';
}

interface ServiceErrorOptions {
  details?: (FieldMessage | MissingReference)[];
  retryAfterSeconds?: number;
  version?: number;
  erasedAt?: string;
  lastPosition?: number;
  cause?: unknown;
  problem?: string | undefined;
}

/**
 * The one error that crosses feature boundaries. `message` is public: it never contains PHI or a rejected value, and
 * a caller's id only where the spec asks for it (missing references). `cause` is for operators, and so is `problem`:
 * what is wrong with which file or host, and what to do.
 */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly details: (FieldMessage | MissingReference)[] | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** For a `version_conflict`: the present version, when there is one. */
  readonly version: number | undefined;
  /** For `gone`: when it was erased, ISO 8601, UTC. */
  readonly erasedAt: string | undefined;
  /** For `position_gone`: the last preceding position that the log has. */
  readonly lastPosition: number | undefined;
  readonly problem: string | undefined;

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'ServiceError';
    this.code = code;
    this.details = options.details;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.version = options.version;
    this.erasedAt = options.erasedAt;
    this.lastPosition = options.lastPosition;
    this.problem = options.problem;
  }
}

/** Returns the error for something that does not exist where the caller may look; `title` names it: `Patient`. */
export function notFound(title: string): ServiceError {
  return new ServiceError('not_found', `${title} not found.`);
}

/** Returns the error for what was erased at that time; `title` names it: `Patient`. */
export function gone(title: string, erasedAt: string): ServiceError {
  return new ServiceError('gone', `${title} was erased.`, { erasedAt });
}

/** Returns the same error as `unavailable`, without measuring anything. */
export function unavailableError(what: string, cause?: unknown, problem?: string): ServiceError {
  return new ServiceError(
    'unavailable',
    `The ${what} is not available right now. Try again; sending a request again is safe.`,
    {
      retryAfterSeconds: 2,
      cause,
      problem,
    },
  );
}

/** Stores as metrics name them, by the names that `unavailable` uses. */
const storeNames: Readonly<Record<string, string>> = {
  'event log': 'event_log',
  'read models': 'read_models',
  'read model store': 'read_models',
  'state store': 'state_store',
  'document store': 'document_store',
  'rate limit store': 'rate_limit_store',
};

/**
 * Returns the error for a store that cannot be reached; callers are told to come back (503 with `Retry-After`), and
 * operators are told the `problem`, where it is known.
 */
export function unavailable(what: string, cause?: unknown, problem?: string): ServiceError {
  const store = storeNames[what];
  if (store !== undefined)
    measurements.counter('chartledger.store.errors', { 'chartledger.store': store }).add();
  return unavailableError(what, cause, problem);
}

/**
 * The error for a history with an event that this process cannot read: nothing of it is shown, as that could be wrong
 * (503 with `Retry-After`: another process may be able to). Everything else continues.
 */
export class UnreadableError extends ServiceError {
  constructor(message: string) {
    super('unreadable', message, { retryAfterSeconds: 30 });
    this.name = new.target.name;
  }
}

/** Returns the error, if it is an `UnreadableError`; throws any other. */
export function asUnreadable(error: unknown): UnreadableError {
  if (error instanceof UnreadableError) return error;
  throw error;
}

/**
 * Returns what an operator may see of an unexpected error: its name, code and stack frames, and those of its causes.
 * Messages are left out, because drivers put data values into them.
 */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { name: typeof error };
  const frames = error.stack
    ?.split('\n')
    .filter((line) => /^\s+at /.test(line))
    .map((line) => line.trim());
  return {
    name: error.name,
    ...('code' in error && { code: error.code }),
    ...(error instanceof ServiceError && error.problem && { problem: error.problem }),
    ...(frames && { stack: frames }),
    ...(error.cause !== undefined && { cause: describeError(error.cause) }),
  };
}
