import { SingleBar } from 'cli-progress';
import { terminal } from '../../server/terminal.ts';

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
