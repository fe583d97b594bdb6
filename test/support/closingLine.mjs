import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const output = process.env.TEST_OUTPUT ?? 'test/.output';
const folder = `${output}/totals`;

/** Ends a run with `N passed, N failed, N skipped`, counting the phases of the suite so far together. */
export default class ClosingLine {
  onRunComplete(
    _contexts,
    { numPassedTests: passed, numFailedTests, numPendingTests: skipped, numRuntimeErrorTestSuites },
  ) {
    const failed = numFailedTests + numRuntimeErrorTestSuites;
    writeFileSync(
      `${folder}/${process.env.TEST_PHASE ?? 'suite'}.json`,
      JSON.stringify({ passed, failed, skipped }),
    );
    const sum = { passed: 0, failed: 0, skipped: 0 };
    for (const name of readdirSync(folder)) {
      const phase = JSON.parse(readFileSync(`${folder}/${name}`, 'utf8'));
      for (const key of Object.keys(sum)) sum[key] += phase[key];
    }
    const line = `${sum.passed} passed, ${sum.failed} failed, ${sum.skipped} skipped\n`;
    writeFileSync(`${output}/closing-line.txt`, line);
    process.stdout.write(`\n${line}`);
  }
}
