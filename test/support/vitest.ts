import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import {
  BaseSequencer,
  type Reporter,
  type SerializedError,
  type TestModule,
  type TestSpecification,
} from 'vitest/node';
import { outputFolder } from './output.ts';

const MOST_OF_A_REASON = 1_000;

const folder = `${outputFolder}/totals`;

/**
 * Ends a run with `N passed, N failed, N skipped`, counting the runs of `npm run test:all` so far together, behind the names of
 * those that failed, and why: of a long output only the end may be kept.
 */
export class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const counts = { passed: 0, failed: unhandled.length, skipped: 0 };
    const failures = unhandled.map(() => 'an error outside of the tests');
    for (const module of modules) {
      const failed = failures.length;
      for (const test of module.children.allTests()) {
        const { state, errors = [] } = test.result();
        counts[state === 'pending' ? 'failed' : state] += 1;
        if (state === 'failed' || state === 'pending')
          failures.push(`${module.relativeModuleId} > ${test.fullName}${reasonOf(errors, module.moduleId)}`);
      }
      // What fails outside of every test: a file that cannot be loaded, a hook.
      if (module.ok() || failures.length > failed) continue;
      counts.failed += 1;
      failures.push(module.relativeModuleId);
    }
    const phase = process.env.TEST_PHASE ?? 'fast';
    const names = failures.map((name) => `Failed (${phase}): ${name}`);
    writeFileSync(`${folder}/${phase}.json`, JSON.stringify({ ...counts, failures: names }));
    const all = readdirSync(folder).map((name) => JSON.parse(readFileSync(`${folder}/${name}`, 'utf8')));
    const sum = (name: string) => all.reduce((total, one) => total + one[name], 0);
    const failed = all.flatMap((one) => one.failures).map((name) => `${name}\n`);
    const line = `${failed.join('')}${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped\n`;
    writeFileSync(`${outputFolder}/closing-line.txt`, line);
    process.stdout.write(`\n${line}`);
  }
}

/** The text of each error, what differs, and where in the test that was, on lines of their own. */
function reasonOf(errors: readonly SerializedError[], file: string): string {
  const lines = errors.flatMap(({ message, diff, stacks = [] }) => {
    const at = stacks.find((stack) => stack.file === file);
    const text = stripVTControlCharacters(`${message}\n${diff ?? ''}`).slice(0, MOST_OF_A_REASON);
    return [...(at ? [`line ${at.line}:`] : []), ...text.trimEnd().split('\n')];
  });
  return lines.map((line) => `\n  ${line}`).join('');
}

/** Files of more than half a minute, the longest first, without `test/` and `.test.ts`. */
export const longest = [
  'api/clientGenerators.process',
  'server/sameAnswers.fault',
  'integrations/fhirAway.fault',
  'dashboard/everyPage.page',
  'cli/importKilled.long',
  'dashboard/oidc.page',
  'release/docsExamples.process',
  'storage/eventStoreDbCluster.fault',
  'integrations/mllpKills.process',
  'server/torture.process',
  'erasure/erasureKills.process',
  'server/cliUsage.process',
  'webhooks/webhooksDelivery.long',
  'webhooks/webhooksKills.fault',
  'backup/drill.process',
  'api/pythonClient.process',
  'cli/importResumes.process',
  'server/logTrouble.process',
  'server/lostLog.process',
  'storage/hungFolders.long',
  'release/package.process',
  'server/upgrade.process',
  'records/documentsLeftovers.process',
  'eventStream/eventsLive.long',
  'server/firstStart.process',
  'server/knownKeys.process',
  'erasure/retentionKills.process',
  'server/freezes.fault',
];

/** Where in the order a file begins: those that are not listed come last. */
const rankOf = ({ moduleId }: TestSpecification) => {
  const rank = longest.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
  return rank === -1 ? longest.length : rank;
};

/** Begins with the files that take longest, so that no worker is left with one when the others are through. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}

/** Debian's Chromium; its headless shell shows the same pages in half the processor time. */
const browsers = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];

/** The browser in which the dashboard is tested. */
export const chromiumPath =
  process.env.TEST_CHROMIUM || browsers.find((path) => existsSync(path)) || '/usr/bin/chromium';

/** Why there is none, if so. */
export const missingBrowser = existsSync(chromiumPath)
  ? undefined
  : `Chromium is not at ${chromiumPath}; TEST_CHROMIUM names another place`;

/** A JVM that runs for minutes at most spends half of its processor time on compiling for speed and on collecting in threads. */
export const briefJvm = { JAVA_TOOL_OPTIONS: '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC' };

/** Keeps compiled modules, as `npm start` does: processes and threads start in two thirds of the time. */
export const compileCache = { NODE_COMPILE_CACHE: resolve('node_modules/.cache/compiled') };
