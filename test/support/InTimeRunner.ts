import {
  type RunnerTaskResultPack,
  type RunnerTestFile,
  type RunnerTestSuite,
  TestRunner,
  type VitestTestRunner,
} from 'vitest';

/**
 * Leaves out files that are not begun by `TEST_UNTIL` (seconds since 1970), and counts their tests as skipped: on a slow machine a
 * bounded run then ends with what it found.
 */
export default class InTimeRunner extends TestRunner implements VitestTestRunner {
  declare onTaskUpdate: NonNullable<VitestTestRunner['onTaskUpdate']>;

  async onBeforeRunFiles(files: RunnerTestFile[]): Promise<void> {
    const { TEST_UNTIL } = process.env;
    if (TEST_UNTIL === undefined || Date.now() / 1_000 < Number(TEST_UNTIL)) return;
    await this.onTaskUpdate(files.flatMap(skipped), []);
  }
}

function skipped(suite: RunnerTestSuite): RunnerTaskResultPack[] {
  suite.mode = 'skip';
  return suite.tasks.flatMap((task) => {
    if (task.type === 'suite') return skipped(task);
    task.mode = 'skip';
    return [[task.id, { state: 'skip' }, task.meta]];
  });
}
