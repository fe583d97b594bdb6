import { eventually } from './eventually.ts';
import { ServiceProcess } from './serviceProcess.ts';

/** A command of `chartledger` that goes on until it is told to end. */
export class CliProcess extends ServiceProcess {
  constructor(args: string[], env: Record<string, string>) {
    super(env, { command: [process.execPath, 'bin/chartledger.mjs', ...args] });
  }

  /** Waits until it has printed so many lines, and gives them. */
  lines(count: number): Promise<string[]> {
    return eventually(() => {
      const lines = this.stdout.split('\n').slice(0, -1);
      if (lines.length < count) throw new Error(`${lines.length} lines, not ${count}: ${this.stderr}`);
      return lines;
    }, 60_000);
  }

  /** Waits until it has said this on standard error, and gives all that it said. */
  told(what: RegExp): Promise<string> {
    return eventually(() => {
      if (!what.test(this.stderr)) throw new Error(`it said: ${this.stderr}`);
      return this.stderr;
    }, 60_000);
  }
}
