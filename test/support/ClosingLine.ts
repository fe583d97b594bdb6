import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';
import { outputFolder } from './output.ts';

const folder = `${outputFolder}/totals`;

/** Ends a run with `N passed, N failed, N skipped`, counting the runs of `npm run test:all` so far together. */
export class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const counts = { passed: 0, failed: unhandled.length, skipped: 0 };
    for (const module of modules) {
      const tests = [...module.children.allTests()].map((test) => test.result().state);
      for (const state of tests) counts[state === 'pending' ? 'failed' : state] += 1;
      // What fails outside of every test: a file that cannot be loaded, a hook.
      if (!module.ok() && !tests.includes('failed')) counts.failed += 1;
    }
    writeFileSync(`${folder}/${process.env.TEST_PHASE ?? 'fast'}.json`, JSON.stringify(counts));
    const all = readdirSync(folder).map((name) => JSON.parse(readFileSync(`${folder}/${name}`, 'utf8')));
    const sum = (name: string) => all.reduce((total, one) => total + one[name], 0);
    const line = `${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped\n`;
    writeFileSync(`${outputFolder}/closing-line.txt`, line);
    process.stdout.write(`\n${line}`);
  }
}
