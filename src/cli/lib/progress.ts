import { SingleBar } from 'cli-progress';
import type { Position } from '../../domain/events/event.ts';
import { terminal } from '../../server/terminal.ts';

/** How a command that reads a log shows its progress, on standard error. */
interface LogProgress {
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

/** Returns the result of `work`, with a progress bar on the terminal, if there is one, for the position in the log. */
export async function withLogBar<Result>(
  work: (onProgress: LogProgress['at']) => Promise<Result>,
): Promise<Result> {
  const bar = createLogProgress(terminal().stderr.isTTY === true);
  return work(bar.at).finally(() => bar.stop());
}

/** Runs `work` with a progress bar on the terminal, if there is one, that follows the calls to `reached`. */
export async function withProgressBar(
  work: (reached: (count: number, total: number) => void) => Promise<void>,
): Promise<void> {
  const { stderr } = terminal();
  const bar = stderr.isTTY ? new SingleBar({ format: '{bar} {value}/{total}', stream: stderr }) : undefined;
  bar?.start(0, 0);
  try {
    await work((count, total) => {
      bar?.setTotal(total);
      bar?.update(count);
    });
  } finally {
    bar?.stop();
  }
}
