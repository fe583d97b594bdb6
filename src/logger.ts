import { type DestinationStream, destination, type Logger, pino, stdTimeFunctions } from 'pino';

/** The service's log: JSON lines without PHI, callers' ids or messages of foreign errors. Written off the request path. */
export function createLogger(
  level: string,
  to: DestinationStream = destination({ dest: 1, sync: false }),
): Logger {
  return pino({ level, base: null, timestamp: stdTimeFunctions.isoTime }, to);
}
