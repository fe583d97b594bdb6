import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from '@jest/globals';

/**
 * Who may import whom, besides itself. A name stands for a folder or a file of `src`; `projections` for that folder.
 * What is not listed here is not allowed, so a new folder needs a line.
 */
const allowed: Record<string, string[]> = {
  errors: [],
  logger: [],
  LogOutput: [],
  stopSignal: [],
  workerUrl: [],
  sealing: [],
  listeningAddress: [],
  keepThread: [],
  version: [],
  settingTypes: [],
  config: ['settingTypes'],
  misspeltSettings: ['config'],
  ports: ['errors', 'records'],
  records: ['errors', 'ports'],
  hashing: ['ports'],
  projections: ['records', 'ports', 'hashing'],
  sameLog: ['errors', 'ports', 'projections', 'config'],
  health: ['errors', 'ports', 'config'],
  commands: ['errors', 'ports', 'records', 'projections', 'sameLog'],
  queries: ['errors', 'ports', 'records', 'projections', 'commands'],
  history: ['errors', 'ports', 'records', 'projections', 'commands', 'queries', 'keys'],
  feed: ['errors', 'ports', 'records', 'projections', 'projector', 'workerUrl'],
  evidence: ['errors', 'ports', 'records', 'projections', 'hashing', 'queries'],
  export: ['errors', 'ports', 'records', 'projections', 'hashing', 'evidence'],
  keys: ['errors', 'ports', 'records', 'projections', 'commands'],
  users: ['errors', 'ports', 'records', 'commands', 'keys', 'config', 'sealing'],
  webhooks: [
    'errors',
    'ports',
    'records',
    'projections',
    'sameLog',
    'commands',
    'queries',
    'keys',
    'history',
    'feed',
    'projector',
    'config',
    'keepThread',
    'workerUrl',
    'sealing',
    'version',
  ],
  projector: [
    'errors',
    'ports',
    'records',
    'projections',
    'sameLog',
    'commands',
    'config',
    'keepThread',
    'workerUrl',
  ],
  http: [
    'errors',
    'health',
    'ports',
    'records',
    'projections',
    'commands',
    'queries',
    'keys',
    'history',
    'feed',
    'export',
    'webhooks',
    'users',
    'version',
    'listeningAddress',
  ],
  cli: [
    'errors',
    'health',
    'ports',
    'records',
    'projections',
    'sameLog',
    'commands',
    'queries',
    'keys',
    'users',
    'history',
    'feed',
    'webhooks',
    'hashing',
    'evidence',
    'export',
    'projector',
    'config',
    'version',
    'misspeltSettings',
    'serve',
    'stopSignal',
    'backends/localFiles',
    'listeningAddress',
  ],
  'backends/FlexibleRateLimiter': ['errors', 'ports'],
  'backends/fileIdentity': [],
  'backends/fileProblem': [],
  'backends/OpenedFiles': ['backends/fileIdentity'],
  'backends/folderOwner': [],
  'backends/sqlite': [
    'errors',
    'ports',
    'records',
    'workerUrl',
    'backends/fileIdentity',
    'backends/fileProblem',
    'backends/folderOwner',
    'backends/OpenedFiles',
  ],
  'backends/localFiles': [
    'errors',
    'ports',
    'records',
    'backends/fileProblem',
    'backends/folderOwner',
    'backends/OpenedFiles',
  ],
  'backends/eventstoredb': ['errors', 'ports', 'records'],
  'backends/mongodb': ['errors', 'ports', 'records'],
  'backends/gcs': ['errors', 'ports', 'records'],
};

/** Modules that put the parts together: they may import anything. */
const composition = new Set([
  'src/main.ts',
  'src/app/serve.ts',
  'src/app/startFailure.ts',
  'src/app/service.ts',
  'src/app/welcome.ts',
  'src/app/openApiPorts.ts',
  'src/app/openBackend.ts',
  'src/app/keyFiles.ts',
  'src/app/keepFilesPrivate.ts',
]);

/** The other modules that may open backends; all others get them as ports. */
const openers = new Set([
  'src/app/runProjector.ts',
  'src/app/feedWorker.ts',
  'src/app/openWebhooks.ts',
  'src/app/withStores.ts',
]);

/** What they open backends and keys with. */
const opened = new Set(['src/app/openBackend.ts', 'src/app/keyFiles.ts']);

/** Packages of parts that do no input or output; of Node they may import types alone. SHA-256 is mere computation. */
const pure: Record<string, string[]> = {
  errors: [],
  ports: [],
  records: ['zod'],
  hashing: ['node:crypto'],
  projections: [],
};

interface Import {
  from: string;
  /** A file's path for one of our own modules, else the package as it is named. */
  to: string;
  typeOnly: boolean;
}

const files = ['src', 'projections'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name)),
);

function importsOf(from: string): Import[] {
  const text = readFileSync(from, 'utf8');
  const statements =
    /^(?:import|export)\s+(type\s)?(?:[^'"`;]*?\sfrom\s+)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm;
  return [...text.matchAll(statements)].map(([, type, named, dynamic]) => {
    const target = (named ?? dynamic) as string;
    const to = target.startsWith('.') ? normalize(join(dirname(from), target)) : target;
    return { from, to, typeOnly: type !== undefined };
  });
}

/** The part of the service that a file belongs to: a key of `allowed`. */
function partOf(file: string): string {
  const [root, folder, inner] = file.replace(/\.ts$/, '').split('/') as [string, string, string | undefined];
  if (root === 'projections') return root;
  return folder === 'backends' ? `${folder}/${inner}` : folder;
}

const isOurs = ({ to }: Import) => to.startsWith('src/') || to.startsWith('projections/');
const imports = files.flatMap(importsOf);
const show = ({ from, to }: Import) => `${from} imports ${to}`;

describe('the import rules', () => {
  test('see the imports of every kind', () => {
    expect(imports.map(show)).toEqual(
      expect.arrayContaining([
        'src/app/service.ts imports src/app/openBackend.ts',
        'src/app/openBackend.ts imports src/backends/sqlite/SqliteEventLog.ts',
        'src/records/validate.ts imports zod',
        'projections/records.ts imports src/records/catalog.ts',
        'src/commands/uploadDocument.ts imports src/records/document.ts',
      ]),
    );
  });

  test('hold between the parts', () => {
    const broken = imports.filter(isOurs).filter(({ from, to }) => {
      if (composition.has(from) || partOf(from) === partOf(to)) return false;
      if (openers.has(from) && opened.has(to)) return false;
      return !allowed[partOf(from)]?.includes(partOf(to));
    });
    expect(broken.map(show)).toEqual([]);
  });

  test('name parts that are there, and leave none out', () => {
    const parts = new Set(files.filter((file) => !composition.has(file)).map(partOf));
    expect([...parts].filter((part) => allowed[part] === undefined)).toEqual([]);
  });

  test('keep input and output out of the pure parts', () => {
    const broken = imports.filter((one) => {
      const packages = pure[partOf(one.from)];
      if (packages === undefined || isOurs(one)) return false;
      return !packages.includes(one.to) && !(one.typeOnly && /^(?:node:|zod$)/.test(one.to));
    });
    expect(broken.map(show)).toEqual([]);
  });

  test('keep drivers in their backends and the web framework in http', () => {
    const homes: Record<string, string> = {
      'node:sqlite': 'src/backends/sqlite/',
      '@eventstore/db-client': 'src/backends/eventstoredb/',
      mongodb: 'src/backends/',
      '@google-cloud/storage': 'src/backends/gcs/',
      express: 'src/http/',
      'express-session': 'src/http/dashboard/',
      'hono/html': 'src/http/dashboard/',
      busboy: 'src/http/',
      'openid-client': 'src/users/',
      commander: 'src/cli/',
    };
    const broken = imports.filter(({ from, to }) => homes[to] !== undefined && !from.startsWith(homes[to]));
    expect(broken.map(show)).toEqual([]);
  });

  test('leave the environment to the entry points', () => {
    const readers = files.filter((file) => /process\.env\b/.test(readFileSync(file, 'utf8')));
    expect(readers.filter((file) => file !== 'src/main.ts' && !file.startsWith('src/cli/'))).toEqual([]);
  });
});

describe('every file', () => {
  const owned = [
    ...files,
    ...readdirSync('test', { recursive: true, encoding: 'utf8' }).map((name) => join('test', name)),
  ];
  const texts = owned
    .filter((name) => name.endsWith('.ts') && !name.includes('node_modules'))
    .filter((name) => name !== 'test/unit/importRules.test.ts')
    .map((name) => ({ name, text: readFileSync(name, 'utf8') }));

  test('has at most 300 lines', () => {
    const long = texts.filter(({ text }) => text.split('\n').length > 301);
    expect(long.map(({ name }) => name)).toEqual([]);
  });

  test('has nothing that was put off', () => {
    const open = texts.filter(({ text }) => /\b(?:TODO|FIXME|XXX)\b/.test(text));
    expect(open.map(({ name }) => name)).toEqual([]);
  });
});
