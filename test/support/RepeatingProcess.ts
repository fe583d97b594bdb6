import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { NewEvent } from '../../src/domain/events/event.ts';

/** A process of its own that runs `repeatAppends.ts`. */
export class RepeatingProcess {
  /** Revision by event id, of what was acknowledged. */
  readonly places = new Map<string, number>();
  /** How often an append was refused. */
  refusals = 0;
  readonly exited: Promise<unknown>;
  readonly #child: ChildProcess;
  readonly #ready = Promise.withResolvers<void>();

  constructor(url: string, stream: string) {
    const script = resolve('test/support/repeatAppends.ts');
    this.#child = spawn(resolve('node_modules/.bin/node'), [script, url, stream], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.exited = once(this.#child, 'close');
    createInterface({ input: this.#child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      if (line === 'ready') return this.#ready.resolve();
      if (line === 'refused') {
        this.refusals += 1;
        return;
      }
      const [revision, id = ''] = line.split(' ');
      this.places.set(id, Number(revision));
    });
  }

  /** Resolves when it has opened the log. */
  ready(): Promise<void> {
    return this.#ready.promise;
  }

  send(events: NewEvent[]): void {
    this.#child.stdin?.write(`${JSON.stringify(events)}\n`);
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}
