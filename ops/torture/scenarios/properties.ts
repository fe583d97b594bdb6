import { globSync, readFileSync } from 'node:fs';
import type { Outcome, Scenario, Torture } from '../scenario.ts';
import { runProgram } from '../support/runProgram.ts';

interface TestReport {
  numPassedTests: number;
  testResults: { assertionResults: { status: string; fullName: string; failureMessages: string[] }[] }[];
}

/** Checks the properties of the tests with other values than those that the tests always use. */
export const properties: Scenario = {
  name: 'properties',
  description:
    'The tests that check properties with generated values use the same values in every run. Here they run with other seeds, derived from that of this run.',
  async run({ short, seed, progress }: Torture): Promise<Outcome> {
    const files = globSync('test/**/*.test.ts').filter((file) =>
      readFileSync(file, 'utf8').includes("from 'fast-check'"),
    );
    const slow = (file: string) => file.endsWith('.long.test.ts');
    const failures: string[] = [];
    const rounds = short ? 1 : 20;
    let passed = 0;
    for (let round = 0; round < rounds; round += 1) {
      const TEST_SEED = String(seed + round);
      progress(`seed ${TEST_SEED}`);
      for (const TEST_PHASE of short ? ['fast'] : ['fast', 'slow']) {
        const chosen = files.filter((file) => slow(file) === (TEST_PHASE === 'slow'));
        const { code, stdout } = await runProgram(
          process.execPath,
          ['node_modules/vitest/vitest.mjs', 'run', '--reporter=json', ...chosen],
          { env: { ...process.env, TEST_PHASE, TEST_SEED } },
        );
        const report = readReport(stdout);
        if (report === undefined) throw new Error(`vitest ended with ${code} and without a report`);
        passed += report.numPassedTests;
        const failed = report.testResults
          .flatMap(({ assertionResults }) => assertionResults)
          .filter(({ status }) => status === 'failed')
          .map(({ fullName, failureMessages }) => `${fullName}: ${failureMessages[0]}`);
        if (code !== 0 && failed.length === 0) failed.push(`vitest ended with ${code}`);
        failures.push(...failed.map((text) => `TEST_SEED=${TEST_SEED}: ${text}`));
      }
    }
    return {
      figures: [
        ['files', files.length],
        ['seeds', rounds],
        ['tests passed', passed],
      ],
      failures,
    };
  },
};

function readReport(stdout: string): TestReport | undefined {
  const line = stdout.split('\n').find((one) => one.startsWith('{'));
  return line === undefined ? undefined : JSON.parse(line);
}
