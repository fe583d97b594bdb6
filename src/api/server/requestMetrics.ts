import type { ErrorCode } from '../../platform/errors.ts';
import { measurements } from '../../platform/metrics/Measurements.ts';

const methods: ReadonlySet<string | undefined> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'QUERY',
]);

/** Counts an answered request, and how long it took; `code` where it was refused or failed. */
export type MeasureRequest = (
  method: string | undefined,
  status: number,
  ms: number,
  code: ErrorCode | undefined,
) => void;

/** Returns the function that counts the requests of a route. */
export function requestMetrics(route: string): MeasureRequest {
  // Nearly all requests of a route have one method, and few statuses.
  const known = new Map<string, ReturnType<typeof duration>>();
  const duration = (method: string, status: number) =>
    measurements.histogram('http.server.request.duration', {
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': status,
    });
  return (sent, status, ms, code) => {
    const method = methods.has(sent) ? (sent as string) : '_OTHER';
    const key = `${method} ${status}`;
    let histogram = known.get(key);
    if (histogram === undefined) {
      histogram = duration(method, status);
      known.set(key, histogram);
    }
    histogram.observe(ms / 1_000);
    if (code !== undefined)
      measurements.counter('chartledger.request.refusals', { 'error.type': code }).add();
  };
}
