import { measurements } from './metrics/metrics.ts';

/**
 * Every reason for which the service refuses or fails a piece of work, with what it means to the caller. HTTP
 * statuses are in `statusOf`.
 */
export const errorMeanings = {
  validation_failed:
    'A field, parameter or path is not valid; `details` lists each problem. Correct the request.',
  malformed_body: 'The body is malformed or incomplete. Correct the request.',
  reference_not_found:
    'The record refers to records that do not exist; `details` lists them all. Create those records first.',
  unauthorized: 'The API key is missing, unknown or deleted. Send a valid API key.',
  key_deactivated: 'The API key is deactivated. An administrator can activate it again.',
  key_expired: 'The API key has expired. An administrator can create a new one or set a later expiration.',
  address_not_allowed: 'The API key cannot be used from the IP address that the request came from.',
  workspace_deactivated:
    'The workspace of the API key is deactivated, and an administrator can activate it again, or it is deleted.',
  permission_denied: 'The API key lacks the permission that this request needs.',
  reason_required:
    'The workspace requires a reason for each read. Send it as `Purpose-Statement`, or state the purpose of the key.',
  gone: 'The resource at this path was erased; `erased_at` says when. Its id can be used again.',
  previously_erased:
    'The record with this id was erased, and the workspace does not let it return. Remove it in the sending system. `chartledger records decide-return` lets a single record return.',
  return_pending:
    'The record with this id was erased, and somebody has to decide whether it returns. Send it again after that.',
  position_gone:
    'The event log was reset to an earlier state and no longer contains this position. `last_position` is the last position before it. Continue from there: the events that you read after it were lost.',
  not_found: 'The path, or the resource that it names, does not exist in the workspace of the API key.',
  method_not_allowed:
    'The path does not support this method; the `Allow` header lists the methods that it supports.',
  not_implemented: 'The service supports this method for no path.',
  not_acceptable: 'The service cannot provide a response in any format that `Accept` allows.',
  request_timeout: 'The request did not arrive in time. Send it again.',
  conflict: 'The resource is in a state that does not allow the request; for example, a webhook is disabled.',
  idempotency_key_in_use:
    'The first request with this `Idempotency-Key` is still in progress. Send the same request again in a moment.',
  idempotency_key_reused:
    'The `Idempotency-Key` was sent with a different request within the last 24 hours. Use a different key.',
  version_conflict:
    'The record does not satisfy `If-Match`, `If-None-Match` or the `version` in the body; `version` and `ETag` contain the current version.',
  payload_too_large: 'The body or file is too large.',
  unsupported_media_type:
    'The `Content-Type` or `Content-Encoding` of the body is not supported for this request.',
  range_not_satisfiable: 'The file does not contain the bytes requested by `Range`.',
  expectation_failed: 'The `Expect` header has a value other than `100-continue`.',
  rate_limited:
    'Too many requests from one IP address (for IPv6, one /64), or with a key that has its own limit. Wait for the number of seconds in `Retry-After`.',
  headers_too_large: 'The headers of the request are larger than 16 KB.',
  internal: 'The service failed. Contact its operators and quote `requestId`.',
  overloaded:
    'Too many requests or request bodies are in progress, or too many requests are waiting for referenced records. Try again in a moment.',
  unavailable:
    'A store of the service is unavailable. Try again; the event is written only once, however often the request is sent.',
  unreadable:
    'The requested data was written by a newer version of the service. Try again when the upgrade is complete.',
} as const;

export type ErrorCode = keyof typeof errorMeanings;

/** One complaint or remark about one field; `field` is dotted (`primary_insurance.payer_id`), and empty for the whole request. */
export interface FieldMessage {
  field: string;
  message: string;
}

/** A field that refers to a record that does not exist; the spec asks for its kind and id (4.1, 4.5). */
interface MissingReference extends FieldMessage {
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
  /** Never undefined for `validation_failed` (spec section 7). */
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
    this.details = options.details ?? (code === 'validation_failed' ? [{ field: '', message }] : undefined);
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.version = options.version;
    this.erasedAt = options.erasedAt;
    this.lastPosition = options.lastPosition;
    this.problem = options.problem;
  }
}

/** Returns the error for what is wrong with one field of a form; `message` is a sentence that stands for itself. */
export function invalidField(field: string, message: string): ServiceError {
  return new ServiceError('validation_failed', message, { details: [{ field, message }] });
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
  return new ServiceError('unavailable', `The ${what} is temporarily unavailable. Try again in a moment.`, {
    retryAfterSeconds: 2,
    cause,
    problem,
  });
}

/** Stores as metrics name them, by the names that `unavailable` uses. */
const storeNames: Readonly<Record<string, string>> = {
  'event log': 'event_log',
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
 * The error for a history with an event that this process cannot read: nothing of it is shown, as that could be wrong. Everything
 * else continues. `unreadable` if another process may be able to read it (503 with `Retry-After`); `internal` if the event is
 * damaged or missing, which does not pass.
 */
export class UnreadableError extends ServiceError {
  /** Where the event is, for operators. */
  readonly place: UnreadablePlace | undefined;

  constructor(
    code: 'unreadable' | 'internal',
    message: string,
    event?: { stream: string; position: number },
  ) {
    super(code, message, code === 'unreadable' ? { retryAfterSeconds: 30 } : {});
    this.name = new.target.name;
    this.place = event && unreadablePlace(event);
  }
}

/** What a message about a damaged or missing event ends with. */
export const DAMAGE_ADVICE =
  'Nothing else is affected. Repeating the request does not help. Contact the operators of the service: they find out why with ' +
  '`chartledger verify --workspace ID`, and restore the event log from a backup.';

/** The place of an event that cannot be read: its position and, as a stream's name contains the caller's id, only the part before it. */
interface UnreadablePlace {
  partition: string;
  position: number;
}

export function unreadablePlace({ stream, position }: { stream: string; position: number }): UnreadablePlace {
  return { partition: stream.split('-', 1)[0] as string, position };
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
