import { SingleBar } from 'cli-progress';
import { terminal } from '../../app/terminal.ts';

/** How an import tells people, on standard error, how far it is. */
export interface Progress {
  start(total: number): void;
  /** The kind of records, in the plural, that is sent now. */
  kind(plural: string): void;
  advance(): void;
  /** A line on why the import waits. */
  wait(reason: string): void;
  stop(): void;
}

/** A bar on a terminal; elsewhere only the first of the waits for one reason is told. */
export function createProgress(onTerminal: boolean): Progress {
  return onTerminal ? barProgress() : plainProgress();
}

function barProgress(): Progress {
  const bar = new SingleBar({
    format: '{bar} {value}/{total} {note}',
    barsize: 30,
    stream: terminal().stderr,
    hideCursor: true,
  });
  let kind = '';
  return {
    start: (total) => bar.start(total, 0, { note: '' }),
    kind(plural) {
      kind = plural;
      bar.update({ note: kind });
    },
    advance: () => bar.increment(1, { note: kind }),
    wait: (reason) => bar.update({ note: `${kind} (${reason})` }),
    stop: () => bar.stop(),
  };
}

function plainProgress(): Progress {
  let told = '';
  const nothing = () => undefined;
  return {
    start: nothing,
    kind: nothing,
    advance: nothing,
    wait(reason) {
      const subject = reason.split(';')[0] as string;
      if (subject !== told) terminal().stderr.write(`Waiting: ${reason}.\n`);
      told = subject;
    },
    stop: nothing,
  };
}
