import { defineConfig } from 'vitest/config';
import type { VitestPluginContext } from 'vitest/node';

/** StrykerJS asks for threads, in which a service cannot start: only a process has a umask and a current folder. */
const inProcesses = {
  name: 'in processes',
  configureVitest({ project, vitest }: VitestPluginContext) {
    for (const { config } of [project, vitest]) config.pool = 'forks';
  },
};

export default defineConfig({
  plugins: [inProcesses],
  test: {
    include: JSON.parse(process.env.MUTATE_TESTS ?? '[]'),
    // They compare sources with digests.
    exclude: ['test/**/*Version*.unit.test.ts'],
    isolate: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    globalSetup: './test/support/globalSetup.ts',
    setupFiles: './test/support/propertySeed.ts',
  },
});
