import { SingleBar } from 'cli-progress';
import { terminal } from '../app/terminal.ts';
import type { Position } from '../events/event.ts';

/** How a command that reads a log tells people, on standard error, how far it is. */
export interface LogProgress {
  /** How far into the log it is, where it will end, and how many events it has dealt with. */
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
