import { type DestinationStream, type Logger, pino } from 'pino';

/** The service's log: JSON lines without PHI, callers' ids or messages of foreign errors. */
export function createLogger(level: string, to: DestinationStream): Logger {
  return pino({ level, base: null }, to);
}
