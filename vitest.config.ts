import { defineConfig } from 'vitest/config';
import { missingBrowser } from './test/support/chromium.ts';

const phases = {
  suite: {
    include: ['test/**/*.test.ts'],
    exclude: [
      '**/node_modules/**',
      'test/afterwards/**',
      'test/faults/**',
      ...(missingBrowser ? ['test/dashboard/**'] : []),
    ],
    globalSetup: './test/support/globalSetup.mjs',
    maxWorkers: 2,
  },
  production: { include: ['test/{flows,faults}/*.test.ts'], maxWorkers: 2 },
  afterwards: { include: ['test/afterwards/*.test.ts'], maxWorkers: 1 },
};

export default defineConfig({
  test: {
    ...phases[(process.env.TEST_PHASE ?? 'suite') as keyof typeof phases],
    pool: 'forks',
    isolate: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
