import { globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';

/** From the ground up: a file imports its own layer and those before it. */
const layers = [
  ...['src/platform', 'src/domain', 'src/storage', 'projections', 'src/modules', 'src/api', 'src/dashboard'],
  ...['src/server', 'src/cli', 'src/main.ts'],
];

/** The modules of `src/modules`, each a folder or a file: it imports only those before it. */
const modules = [
  ...['idempotency', 'jobs', 'keyring', 'projections', 'eventStream', 'records', 'readiness', 'health'],
  ...['audit', 'auth', 'integrity', 'warehouse', 'integrations', 'patientCopy', 'webhooks'],
  ...['notifications', 'erasure', 'backup'],
];

/** The only place that imports a package. */
const homes: Record<string, string> = {
  'node:sqlite': 'src/storage/engines/sqlite/',
  '@eventstore/db-client': 'src/storage/engines/eventstoredb/',
  '@kurrent/kurrentdb-client': 'src/storage/engines/eventstoredb/drivers/',
  mongodb: 'src/storage/engines/mongodb/',
  '@google-cloud/storage': 'src/storage/engines/gcs/',
  pg: 'src/storage/engines/postgres/',
  hyparquet: 'src/storage/engines/filesystem/',
  'hyparquet-writer': 'src/storage/engines/filesystem/',
  'express-session': 'src/dashboard/',
  'hono/html': 'src/dashboard/',
  marked: 'src/dashboard/pages/',
  'content-disposition': 'src/api/server/',
  libmime: 'src/api/server/',
  yauzl: 'src/modules/',
  sax: 'src/modules/records/commands/',
  'openid-client': 'src/modules/auth/',
  nodemailer: 'src/modules/notifications/',
  jose: 'src/modules/auth/',
  commander: 'src/cli/',
};

/** What layers without input and output import from outside. SHA-256 is mere computation. */
const pure: Record<string, string[]> = {
  'src/domain': ['node:crypto', 'uuid', 'zod'],
  projections: [],
};

interface Import {
  from: string;
  /** A file's path for one of our own modules, else the package as it is named. */
  to: string;
  typeOnly: boolean;
}

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

const files = globSync(['src/**/*.ts', 'projections/**/*.ts']).sort();
const imports = files.flatMap(importsOf);
const own = imports.filter(({ to }) => /^(?:src|projections)\//.test(to));
const show = ({ from, to }: Import) => `${from} imports ${to}`;
const layerOf = (file: string) => layers.findIndex((layer) => file === layer || file.startsWith(`${layer}/`));
const moduleOf = (file: string) => modules.indexOf(/^src\/modules\/(\w+)/.exec(file)?.[1] ?? '');
const engineOf = (file: string) => /^src\/storage\/engines\/(\w+)/.exec(file)?.[1];

describe('the import rules', () => {
  test('see the imports of every kind', () => {
    expect(imports.map(show)).toEqual(
      expect.arrayContaining([
        'src/main.ts imports src/server/stopSignal.ts',
        'src/server/openStorage.ts imports src/storage/engines/sqlite/eventLog.ts',
        'src/domain/records/schema/validation.ts imports zod',
        'projections/records.ts imports src/domain/records/catalog.ts',
        'src/modules/records/commands/documents.ts imports src/domain/records/document.ts',
      ]),
    );
  });

  test('let a file import its own layer and those before it', () => {
    expect(files.filter((file) => layerOf(file) === -1)).toEqual([]);
    expect(own.filter(({ from, to }) => layerOf(to) > layerOf(from)).map(show)).toEqual([]);
  });

  test('let a module import those before it', () => {
    expect(files.filter((file) => file.startsWith('src/modules/') && moduleOf(file) === -1)).toEqual([]);
    expect(
      own.filter(({ from, to }) => moduleOf(from) !== -1 && moduleOf(to) > moduleOf(from)).map(show),
    ).toEqual([]);
  });

  test('leave no circle of files', () => {
    const targets = Map.groupBy(own, ({ from }) => from);
    const done = new Set<string>();
    const circles: string[] = [];
    const follow = (file: string, path: string[]): void => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' → '));
      else if (!done.has(file)) {
        for (const { to } of targets.get(file) ?? []) follow(to, [...path, file]);
        done.add(file);
      }
    };
    for (const file of files) follow(file, []);
    expect(circles).toEqual([]);
  });

  test('leave the engines to the server, and keep them apart from each other', () => {
    const shared = ['shared', 'memory'];
    const broken = own.filter(({ from, to }) => {
      const engine = engineOf(to);
      if (engine === undefined || from.startsWith('src/server/')) return false;
      return engineOf(from) === undefined || ![engineOf(from), ...shared].includes(engine);
    });
    expect(broken.map(show)).toEqual([]);
  });

  test('keep input and output out of the pure layers', () => {
    const broken = imports.filter((one) => {
      const packages = pure[layers[layerOf(one.from)] as string];
      return packages !== undefined && !own.includes(one) && !packages.includes(one.to);
    });
    expect(broken.map(show)).toEqual([]);
    const platform = own.filter(({ from, to }) => layerOf(from) === 1 && layerOf(to) === 0);
    expect(platform.filter(({ to }) => to !== 'src/platform/errors.ts').map(show)).toEqual([]);
  });

  test('keep drivers in their engines and the web framework at the interfaces', () => {
    const broken = imports.filter(({ from, to }) => homes[to] !== undefined && !from.startsWith(homes[to]));
    expect(broken.map(show)).toEqual([]);
  });

  test('leave the environment to the entry points', () => {
    const readers = files.filter((file) => /process\.env\b/.test(readFileSync(file, 'utf8')));
    expect(readers.filter((file) => file !== 'src/main.ts' && !file.startsWith('src/cli/'))).toEqual([]);
  });
});

/** Those of the TypeScript client that are written by hand. */
const clientFiles = globSync('clients/typescript/src/*.ts');

test('the client has nothing of the service but the types of its document, and needs one package', () => {
  const outward = clientFiles
    .flatMap(importsOf)
    .filter(({ to }) => !to.startsWith('clients/typescript/src/'));
  expect([...new Set(outward.map(({ to }) => to))]).toEqual(['openapi-fetch']);
});

test('nothing was put off', () => {
  const tests = readdirSync('test', { recursive: true, encoding: 'utf8' }).map((name) => join('test', name));
  const owned = [...files, ...clientFiles, ...tests].filter(
    (name) => name.endsWith('.ts') && !/node_modules|\.output|^test\/architecture\/imports/.test(name),
  );
  const open = owned.filter((name) => /\b(?:TODO|FIXME|XXX)\b/.test(readFileSync(name, 'utf8')));
  expect(open).toEqual([]);
});
