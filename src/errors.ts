/** Every reason for which the service refuses or fails a piece of work. HTTP statuses are `http/errorResponse.ts`'s. */
export type ErrorCode =
  | 'validation_failed'
  | 'malformed_body'
  | 'reference_not_found'
  | 'unauthorized'
  | 'key_deactivated'
  | 'workspace_deactivated'
  | 'permission_denied'
  | 'not_found'
  | 'method_not_allowed'
  | 'not_acceptable'
  | 'conflict'
  | 'version_conflict'
  | 'payload_too_large'
  | 'range_not_satisfiable'
  | 'request_timeout'
  | 'expectation_failed'
  | 'headers_too_large'
  | 'unsupported_media_type'
  | 'rate_limited'
  | 'overloaded'
  | 'unavailable'
  | 'unreadable'
  | 'internal';

/** One complaint or remark about one field; `field` is dotted (`primary_insurance.payer_id`). */
export interface FieldMessage {
  field: string;
  message: string;
}

/** A field that refers to a record which does not exist; the spec asks for its kind and id (4.1, 4.5). */
export interface MissingReference extends FieldMessage {
  kind: string;
  id: string;
  code: 'reference_not_found';
}

interface ServiceErrorOptions {
  details?: (FieldMessage | MissingReference)[];
  retryAfterSeconds?: number;
  version?: number;
  cause?: unknown;
  problem?: string | undefined;
}

/**
 * The one error that crosses a feature's border. `message` is public: it never holds PHI or a rejected value,
 * and a caller's id only where the spec asks for it (missing references). `cause` is for operators, and so is `problem`: what
 * is the matter with which file or host, and what to do.
 */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly details: (FieldMessage | MissingReference)[] | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** Of a `version_conflict`: the present version, when there is one. */
  readonly version: number | undefined;
  readonly problem: string | undefined;

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'ServiceError';
    this.code = code;
    this.details = options.details;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.version = options.version;
    this.problem = options.problem;
  }
}

/**
 * The error of a store that is away; callers are told to come back (503 with `Retry-After`), and operators of the
 * `problem`, where it is known.
 */
export function unavailable(what: string, cause?: unknown, problem?: string): ServiceError {
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

/**
 * The error of a history that holds an event which this process cannot read: nothing is shown of it, as that could be
 * wrong (503 with `Retry-After`: another process may be able to). All else goes on.
 */
export class UnreadableError extends ServiceError {
  constructor(message: string) {
    super('unreadable', message, { retryAfterSeconds: 30 });
    this.name = new.target.name;
  }
}

/** The error, if it is an `UnreadableError`; throws any other. */
export function asUnreadable(error: unknown): UnreadableError {
  if (error instanceof UnreadableError) return error;
  throw error;
}

/**
 * What an operator may see of an unexpected error: its name, code and stack frames, and those of its causes.
 * Messages are left out, because drivers put values of the data into them.
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
