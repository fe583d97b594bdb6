import { missingBrowser } from './test/support/chromium.ts';

const common = {
  extensionsToTreatAsEsm: ['.ts'],
  moduleFileExtensions: ['ts', 'js', 'mjs', 'json'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2024' }, module: { type: 'es6' } },
    ],
  },
  testTimeout: 120_000,
  // In effect a process for each file: one that had run dozens of them crashed in Node now and then (SIGSEGV).
  workerIdleMemoryLimit: '100MB',
};

const reporters = ['default', './test/support/closingLine.mjs'];

/**
 * The suite's phases: all on the embedded engines, and each backend; the flows on the production engines, and faults
 * of their servers; and a look at what the whole of it wrote to the services' logs.
 */
const phases = {
  suite: {
    testMatch: ['<rootDir>/test/**/*.test.ts'],
    testPathIgnorePatterns: [
      '/node_modules/',
      '/test/afterwards/',
      '/test/faults/',
      ...(missingBrowser ? ['/test/dashboard/'] : []),
    ],
    globalSetup: './test/support/globalSetup.mjs',
    maxWorkers: 2,
  },
  production: { testMatch: ['<rootDir>/test/{flows,faults}/*.test.ts'], maxWorkers: 2 },
  afterwards: { testMatch: ['<rootDir>/test/afterwards/*.test.ts'], maxWorkers: 1 },
};

export default { ...common, ...phases[process.env.TEST_PHASE ?? 'suite'], reporters };
