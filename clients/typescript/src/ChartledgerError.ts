import { refusalIn } from './fhir.ts';
import type { ErrorBody, ErrorDetail } from './types.ts';

/** Beside the service's own codes: `no_answer`, none came; `invalid_signature`, a webhook's message is not to be trusted. */
export type ErrorCode = ErrorBody['code'] | 'no_answer' | 'invalid_signature' | 'unknown';

interface ErrorFields {
  code: ErrorCode;
  status?: number | undefined;
  body?: Partial<ErrorBody>;
  headers?: Headers | undefined;
  unreadable?: readonly string[];
  cause?: unknown;
}

const retriedStatuses = [408, 429];
const retriedCodes: string[] = ['no_answer', 'idempotency_key_in_use'];

/** What went wrong with a call. */
export class ChartledgerError extends Error {
  override readonly name = 'ChartledgerError';
  /** What went wrong, for programs. */
  readonly code: ErrorCode;
  /** The status of the answer; undefined when there was none. */
  readonly status: number | undefined;
  /** The headers of the answer; undefined when there was none. */
  readonly headers: Headers | undefined;
  /** Quote it to the operators of the service; the message ends with it. */
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
    { code, status = 0, headers, body = {}, unreadable = [], cause }: ErrorFields,
  ) {
    const requestId = body.requestId ?? headers?.get('request-id') ?? undefined;
    super(requestId === undefined ? message : `${message} (request ${requestId})`, { cause });
    this.code = code;
    this.status = status || undefined;
    this.headers = headers;
    this.requestId = requestId;
    this.details = body.details ?? [];
    this.retryAfter = secondsIn(headers?.get('retry-after') ?? '');
    this.version = body.version;
    this.unreadable = unreadable;
    this.retryable = status >= 500 || retriedStatuses.includes(status) || retriedCodes.includes(code);
  }

  /** The error of an answer; `body` is what it says, parsed where it is JSON. */
  static of(response: Response, body: unknown): ChartledgerError {
    const { status, headers } = response;
    const known: Partial<ErrorBody> =
      typeof body === 'object' && body !== null ? { ...body, ...refusalIn(body) } : {};
    return new ChartledgerError(known.error ?? `The service answered ${status}.`, {
      code: known.code ?? 'unknown',
      status,
      headers,
      body: known,
    });
  }

  /** The error of a list some of whose items the service cannot read; of a snapshot, which has no `ids`, so many. */
  static unreadable(ids: readonly string[], count = ids.length): ChartledgerError {
    const message = `The service cannot read ${count} of the items of the list; the others were returned.`;
    return new ChartledgerError(message, { code: 'unreadable', unreadable: ids });
  }

  /** The error of a request that was sent, and to which no whole answer came. */
  static noAnswer(cause: unknown): ChartledgerError {
    return new ChartledgerError('No answer came from the service.', { code: 'no_answer', cause });
  }
}

/** The seconds that a `Retry-After` asks to wait, which may be a number or a date (RFC 9110, section 10.2.3). */
function secondsIn(retryAfter: string): number | undefined {
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter);
  const moment = Date.parse(retryAfter);
  return Number.isNaN(moment) ? undefined : Math.max(0, (moment - Date.now()) / 1_000);
}
