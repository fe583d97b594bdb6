import { createWriteStream, writeSync } from 'node:fs';
import { type DestinationStream, type Logger, pino } from 'pino';

const FLUSH_CHARACTERS = 32 * 1024;
const FLUSH_MS = 100;
const STDOUT = 1;

/**
 * Standard output, many lines at a time and never on the request path. (pino's own destination measures all that it
 * holds anew with every line, which made a line three times as dear.)
 */
function bufferedStdout(): DestinationStream {
  const stdout = createWriteStream('', { fd: STDOUT, autoClose: false });
  let lines: string[] = [];
  let length = 0;
  const take = () => {
    const text = lines.join('');
    lines = [];
    length = 0;
    return text;
  };
  setInterval(() => length > 0 && stdout.write(take()), FLUSH_MS).unref();
  process.on('exit', () => writeSync(STDOUT, take()));
  return {
    write(line) {
      lines.push(line);
      length += line.length;
      if (length > FLUSH_CHARACTERS) stdout.write(take());
    },
  };
}

/** The service's log: JSON lines without PHI, callers' ids or messages of foreign errors. */
export function createLogger(level: string, to: DestinationStream = bufferedStdout()): Logger {
  return pino({ level, base: null }, to);
}
