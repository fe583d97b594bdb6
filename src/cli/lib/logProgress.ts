import { SingleBar } from 'cli-progress';
import type { Position } from '../../domain/events/event.ts';
import { terminal } from '../../server/terminal.ts';

/** How a command that reads a log shows its progress, on standard error. */
export interface LogProgress {
  /** Reports the position in the log, where it will end, and the number of events processed. */
  at(position: Position, until: Position, events: number): void;
  stop(): void;
}

/** A bar on a terminal, nothing elsewhere. */
export function createLogProgress(onTerminal: boolean): LogProgress {
  if (!onTerminal) return { at: () => undefined, stop: () => undefined };
  const bar = new SingleBar({
    format: '{bar} {percentage}% {events} events',
    barsize: 30,
    stream: terminal().stderr,
  });
  return {
    at(position, until, events) {
      if (!bar.isActive) bar.start(until, 0, { events });
      bar.update(position, { events });
    },
    stop: () => bar.stop(),
  };
}
