import type { ErrorBody, ErrorDetail } from './types.ts';

/** Beside the service's own codes: `no_answer`, none came; `invalid_signature`, a webhook's message is not to be trusted. */
export type ErrorCode = ErrorBody['code'] | 'no_answer' | 'invalid_signature' | 'unknown';

interface ErrorFields {
  code: ErrorCode;
  status?: number | undefined;
  body?: Partial<ErrorBody>;
  requestId?: string | undefined;
  /** Seconds that the service asks to wait. */
  retryAfter?: number | undefined;
  unreadable?: readonly string[];
  cause?: unknown;
}

const retriedStatuses = [408, 429, 502, 503, 504];
const retriedCodes: string[] = ['no_answer', 'idempotency_key_in_use'];

/** What went wrong with a call. */
export class ChartledgerError extends Error {
  override readonly name = 'ChartledgerError';
  /** What went wrong, for programs. */
  readonly code: ErrorCode;
  /** The status of the answer; undefined when there was none. */
  readonly status: number | undefined;
  /** Quote it to the operators of the service. */
  readonly requestId: string | undefined;
  /** The fields at fault. */
  readonly details: readonly ErrorDetail[];
  /** Seconds after which the service wants to be asked again. */
  readonly retryAfter: number | undefined;
  /** With the code `version_conflict`: the current version, if there is one. */
  readonly version: number | undefined;
  /** With the code `unreadable`, of a list: the ids of the items that are missing from it. */
  readonly unreadable: readonly string[];
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;

  constructor(
    message: string,
    { code, status, body = {}, requestId, retryAfter, unreadable = [], cause }: ErrorFields,
  ) {
    super(message, { cause });
    this.code = code;
    this.status = status;
    this.requestId = body.requestId ?? requestId;
    this.details = body.details ?? [];
    this.retryAfter = retryAfter;
    this.version = body.version;
    this.unreadable = unreadable;
    this.retryable = retriedStatuses.includes(status ?? 0) || retriedCodes.includes(code);
  }

  /** The error of an answer; `body` is what it says, parsed where it is JSON. */
  static of(response: Response, body: unknown): ChartledgerError {
    const { status, headers } = response;
    const known = typeof body === 'object' && body !== null ? (body as Partial<ErrorBody>) : {};
    const seconds = Number(headers.get('retry-after') ?? Number.NaN);
    return new ChartledgerError(known.error ?? `The service answered ${status}.`, {
      code: known.code ?? 'unknown',
      status,
      body: known,
      requestId: headers.get('request-id') ?? undefined,
      retryAfter: Number.isFinite(seconds) ? seconds : undefined,
    });
  }

  /** The error of a list some of whose items the service cannot read. */
  static unreadable(ids: readonly string[]): ChartledgerError {
    const message = `The service cannot read ${ids.length} of the items of the list; the others were returned.`;
    return new ChartledgerError(message, { code: 'unreadable', unreadable: ids });
  }

  /** The error of a request that was sent, and to which no whole answer came. */
  static noAnswer(cause: unknown): ChartledgerError {
    return new ChartledgerError('No answer came from the service.', { code: 'no_answer', cause });
  }
}
