import { globSync, readFileSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import { defineConfig } from 'vitest/config';
import { briefJvm, ClosingLine, compileCache, LongestFirst, missingBrowser } from './test/support/vitest.ts';

// For every process that tests start: services load their modules some hundreds of times in a run.
Object.assign(process.env, compileCache, briefJvm);

// The service's background threads lower their priority to this; with the tests above it, they would starve on a busy machine.
setPriority(Math.max(getPriority(), constants.priority.PRIORITY_BELOW_NORMAL));

/** Without a server and without a browser: what `npm test` runs. */
const fast = ['test/**/*.{unit,flow}.test.ts', 'test/storage/{sqlite,local}*.engine.test.ts'];

/** Tests that set the clock of their process: a service in it, which other tests share, would wait by that clock. */
const settingClocks = globSync('test/**/*.unit.test.ts').filter((file) =>
  /useFakeTimers|spyOn\((Date|performance|globalThis)|syncBuiltinESMExports/.test(readFileSync(file, 'utf8')),
);

/** Those whose results depend on the engines. */
const onEveryEngine = globSync('test/**/*.{flow,long,process}.test.ts').filter((file) =>
  /onEveryEngine\(|onSharedService\(/.test(readFileSync(file, 'utf8')),
);

/**
 * Tests of EventStoreDB once more by KurrentDB's driver: processes of a project of its own, because the two clash in one. Only those of what
 * the drivers do: all else is the same code on either.
 */
const onKurrentDb = (files: string) => ({
  extends: true as const,
  test: { name: 'KurrentDB', include: [files], env: { TEST_LOG_SCHEME: 'kurrentdb' } },
});

/**
 * The runs of `npm run test:all`: first the fast tests; then those that take long, and those with processes, pages and
 * the engines' servers; then the flows once more on the production engines, and faults of these; last a look at what all of it
 * logged. Screenshots for the documentation are taken when somebody asks for them.
 */
const runs = {
  fast: {
    isolate: false,
    maxWorkers: 4,
    projects: [
      { extends: true as const, test: { name: 'fast', include: fast, exclude: settingClocks } },
      { extends: true as const, test: { name: 'clocks', include: settingClocks } },
    ],
  },
  slow: {
    isolate: false,
    // Much of their time they wait: for processes to start, pages to load and clocks to go on.
    maxWorkers: 4,
    projects: [
      {
        extends: true as const,
        test: {
          name: 'slow',
          include: ['test/**/*.{long,process,page,engine}.test.ts'],
          exclude: [...fast, ...(missingBrowser ? ['test/**/*.page.test.ts'] : [])],
        },
      },
      onKurrentDb('test/storage/eventStoreDb{,Erasure,Faults}.engine.test.ts'),
    ],
  },
  production: {
    isolate: false,
    // Much of their time they wait for the engines' servers and for clocks.
    maxWorkers: 3,
    projects: [
      {
        extends: true as const,
        test: { name: 'production', include: [...onEveryEngine, 'test/**/*.fault.test.ts'] },
      },
      onKurrentDb('test/storage/eventStoreDb*.fault.test.ts'),
    ],
  },
  screenshots: { include: ['test/**/*.screenshots.test.ts'], maxWorkers: 1 },
  afterwards: { include: ['test/**/*.afterwards.test.ts'], maxWorkers: 1 },
};

export default defineConfig({
  test: {
    pool: 'forks',
    // Node loads and strips the modules itself, in half the time, and runs them as the service does.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // A tenth of the processor time of tests would go into collecting what a test has just left.
    execArgv: ['--min-semi-space-size=64', '--max-semi-space-size=64'],
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    globalSetup: './test/support/globalSetup.ts',
    setupFiles: './test/support/propertySeed.ts',
    runner: './test/support/InTimeRunner.ts',
    reporters: ['default', new ClosingLine()],
    sequence: { sequencer: LongestFirst },
    ...runs[(process.env.TEST_PHASE ?? 'fast') as keyof typeof runs],
  },
});
