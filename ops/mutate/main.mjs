/**
 * `npm run mutate [-- SUBJECT …]`: changes a fixed sample of expressions, one after the other, and counts how many of the changes the
 * fast tests of the same subject notice. Prints each change that they do not notice, and a table.
 */
import { Console } from 'node:console';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { Stryker } from '@stryker-mutator/core';

/** Of each subject the sources and the folders of its tests. */
const subjects = {
  records: [
    [
      'src/domain',
      'src/modules/{records,idempotency,projections}',
      'src/api/routes/{record,documents,history,search}*',
      'projections',
    ],
    ['domain', 'records'],
  ],
  readiness: [['src/modules/readiness', 'src/api/routes/{readiness,billing}*'], ['readiness']],
  audit: [['src/modules/audit', 'src/api/routes/requests*'], ['audit']],
  auth: [['src/modules/auth', 'src/modules/keyring.ts'], ['auth']],
  integrity: [['src/modules/integrity', 'src/api/routes/proofs*'], ['integrity']],
  eventStream: [['src/modules/eventStream', 'src/api/routes/event*'], ['eventStream']],
  webhooks: [['src/modules/webhooks', 'src/api/routes/webhook*'], ['webhooks']],
  integrations: [
    ['src/modules/integrations', 'src/api/routes/{fhir,hl7}*', 'src/api/mllp'],
    ['integrations'],
  ],
  erasure: [['src/modules/erasure'], ['erasure']],
  backup: [['src/modules/backup'], ['backup']],
  storage: [['src/storage', 'src/platform'], ['storage']],
  api: [
    ['src/api/{schemas,server}', 'src/api/routes/{batch,service}*'],
    ['api', 'records'],
  ],
  dashboard: [['src/dashboard'], ['dashboard']],
  server: [['src/server'], ['server']],
  cli: [['src/cli'], ['cli']],
};

const files = (path) => (path.endsWith('.ts') ? path : path.endsWith('*') ? `${path}.ts` : `${path}/**/*.ts`);

async function mutate(subject) {
  const [sources, folders] = subjects[subject];
  process.env.MUTATE_TESTS = JSON.stringify(
    folders.flatMap((folder) => [
      `test/${folder}/**/*.{unit,flow}.test.ts`,
      `test/${folder}/{sqlite,local}*.engine.test.ts`,
    ]),
  );
  const stryker = new Stryker({
    plugins: ['@stryker-mutator/vitest-runner', new URL('sample.mjs', import.meta.url).href],
    appendPlugins: [],
    testRunner: 'vitest',
    vitest: { related: false, configFile: 'ops/mutate/vitest.config.ts' },
    coverageAnalysis: 'perTest',
    mutate: sources.map(files),
    ignorers: ['sample'],
    // Texts are for people, and a function without its body fails anything.
    mutator: { excludedMutations: ['StringLiteral', 'BlockStatement', 'ArrowFunction'] },
    ignorePatterns: ['/clients', '/docs', '/examples', '/data'],
    tsconfigFile: 'none',
    disableTypeChecks: false,
    // Not within node_modules: there, Node runs no TypeScript.
    tempDirName: join(tmpdir(), 'chartledger-mutate'),
    concurrency: 1,
    timeoutMS: 60_000,
    dryRunTimeoutMinutes: 20,
    reporters: [],
    fileLogLevel: 'off',
    logLevel: 'error',
    allowEmpty: true,
  });
  const results = await stryker.runMutationTest();
  const counted = results.filter(({ status }) => status !== 'Ignored');
  for (const { status, fileName, location, mutatorName, replacement } of counted) {
    if (status !== 'Survived') continue;
    process.stdout.write(
      `${relative('.', fileName)}:${location.start.line + 1}:${location.start.column + 1} ${mutatorName} → ${replacement}\n`,
    );
  }
  return counted;
}

const table = [];
for (const subject of process.argv.length > 2 ? process.argv.slice(2) : Object.keys(subjects)) {
  const begun = Date.now();
  const counted = await mutate(subject);
  const of = (...states) => counted.filter(({ status }) => states.includes(status)).length;
  table.push({
    subject,
    mutants: counted.length,
    noticed: of('Killed', 'Timeout'),
    survived: of('Survived'),
    // Nothing reports coverage from a service's threads and processes: what runs only there is counted here.
    'not run': of('NoCoverage'),
    errors: of('RuntimeError', 'CompileError'),
    seconds: Math.round((Date.now() - begun) / 1_000),
  });
  new Console(process.stdout).table(table);
}
