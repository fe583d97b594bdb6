import { type DestinationStream, destination, type Logger, pino, stdTimeFunctions } from 'pino';

const BUFFERED_BYTES = 8 * 1024;
const FLUSH_MS = 200;

/** Standard output, written in pieces: one system call for many lines, and no line waits longer than a moment. */
function bufferedStdout(): DestinationStream {
  const stdout = destination({ dest: 1, sync: false, minLength: BUFFERED_BYTES });
  setInterval(() => stdout.flush(), FLUSH_MS).unref();
  return stdout;
}

/** The service's log: JSON lines without PHI, callers' ids or messages of foreign errors. Written off the request path. */
export function createLogger(level: string, to: DestinationStream = bufferedStdout()): Logger {
  return pino({ level, base: null, timestamp: stdTimeFunctions.isoTime }, to);
}
