import { terminal } from '../../server/terminal.ts';

/** The exit code of an interrupted command. */
export const INTERRUPTED = 130;

/** Calls `onSignal` on Ctrl-C, or when the command is asked to end; the returned function stops that. */
export function onInterruption(onSignal: () => void): () => void {
  const signals = ['SIGINT', 'SIGTERM'];
  for (const signal of signals) process.on(signal, onSignal);
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
}

/** Runs `work`, which ends at its signal; an interruption is reflected in the exit code. Rejects as `work` does. */
export async function untilInterrupted(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const interruption = new AbortController();
  const end = onInterruption(() => interruption.abort());
  try {
    await work(interruption.signal);
  } catch (error) {
    if (!interruption.signal.aborted) throw error;
  } finally {
    end();
  }
  if (interruption.signal.aborted) terminal().exitCode = INTERRUPTED;
}
