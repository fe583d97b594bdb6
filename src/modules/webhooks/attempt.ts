/**
 * Why an attempt failed, apart from what a status says: no response in time, an address or protocol that is not
 * allowed, a name without an address, no trusted TLS connection, no connection or a broken one, a response that is a
 * redirect (redirects are not followed) or not HTTP, or the caller's signal.
 */
export const attemptErrors = [
  'timeout',
  'refused_address',
  'dns',
  'tls',
  'connection',
  'redirect',
  'invalid_answer',
  'aborted',
] as const;
export type AttemptError = (typeof attemptErrors)[number];

/** The result of one attempt to deliver a message. */
export interface Attempt {
  /** When it began, ISO 8601 in UTC. */
  at: string;
  durationMs: number;
  /** The response's status, whenever there was a response. 200 to 299: delivered. */
  status?: number;
  /** Never set together with a status, except for `redirect`. */
  error?: AttemptError;
  /** The first 1,000 characters of the response body, which is whatever the endpoint chose to send. */
  answer?: string;
  /** The value of the response's `Retry-After`. */
  retryAfterSeconds?: number;
}
