import { SingleBar } from 'cli-progress';
import { terminal } from '../../../server/terminal.ts';

/** How an import shows its progress, on standard error. */
export interface Progress {
  /** Sets the total number of rows and documents, and how many of them were done before. */
  start(total: number, done: number): void;
  /** Adds to the number done. */
  advance(count: number): void;
  /** Prints why the import is waiting. */
  wait(reason: string): void;
  stop(): void;
}

/** A bar on a terminal; elsewhere only the first of several waits for the same reason is reported. */
export function createProgress(onTerminal: boolean): Progress {
  return onTerminal ? barProgress() : plainProgress();
}

/** Returns the pace, and the time left: `2,400/s, 3 min left`. */
export function paceText(sent: number, seconds: number, left: number): string {
  if (sent === 0 || seconds <= 0) return '';
  const perSecond = sent / seconds;
  const rate = perSecond >= 10 ? Math.round(perSecond).toLocaleString('en') : perSecond.toFixed(1);
  return `${rate}/s, ${durationText(left / perSecond)} left`;
}

function durationText(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function barProgress(): Progress {
  const bar = new SingleBar({
    format: '{bar} {value}/{total} {pace}{note}',
    barsize: 30,
    stream: terminal().stderr as NodeJS.WritableStream,
    hideCursor: true,
  });
  let sent = 0;
  let startedAt = performance.now();
  let left = 0;
  return {
    start(total, done) {
      startedAt = performance.now();
      left = total - done;
      bar.start(total, done, { pace: '', note: '' });
    },
    advance(count) {
      sent += count;
      left -= count;
      const pace = paceText(sent, (performance.now() - startedAt) / 1000, left);
      bar.increment(count, { pace, note: '' });
    },
    wait: (reason) => bar.update({ note: ` (${reason})` }),
    stop: () => bar.stop(),
  };
}

function plainProgress(): Progress {
  let told = '';
  const nothing = () => undefined;
  return {
    start: nothing,
    advance: nothing,
    wait(reason) {
      const subject = reason.split(';')[0] as string;
      if (subject !== told) terminal().stderr.write(`Waiting: ${reason}.\n`);
      told = subject;
    },
    stop: nothing,
  };
}
