import { type DestinationStream, type Logger, pino } from 'pino';

/** Creates the service's log: JSON lines without PHI, callers' ids or messages of foreign errors. */
export function createLogger(level: string, to: DestinationStream): Logger {
  return pino({ level, base: null }, to);
}

/** Passes lines that a logger in another thread made on to where this one's go. */
export function writeLines(logger: Logger, lines: readonly string[]): void {
  const { [pino.symbols.streamSym]: to } = logger as unknown as Record<symbol, DestinationStream>;
  for (const line of lines) to?.write(line);
}
