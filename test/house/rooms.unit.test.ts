import { globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { rooms } from './rooms.ts';

/** Packages of rooms that do no input or output; of Node they may import types alone. SHA-256 is mere computation. */
const pure: Record<string, string[]> = {
  metrics: [],
  errors: [],
  events: ['node:crypto', 'uuid'],
  // For the time since the machine started, which no global tells.
  ports: ['node:os'],
  records: ['zod'],
  hashing: ['node:crypto'],
  projections: [],
};

/** Those of the TypeScript client that are written by hand. */
const clientFiles = globSync('clients/typescript/src/*.ts');

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

/** The room that a file is in: a key of `rooms`. */
function roomOf(file: string): string {
  const [root, folder] = file.replace(/\.ts$/, '').split('/') as [string, string];
  return root === 'projections' ? root : folder;
}

/** What of the backends a file belongs to: an engine's folder, or what they share. */
function engineOf(file: string): string {
  return /^src\/backends\/(\w+)\//.exec(file)?.[1] ?? 'shared';
}

const isOurs = ({ to }: Import) => to.startsWith('src/') || to.startsWith('projections/');
const imports = files.flatMap(importsOf);
const show = ({ from, to }: Import) => `${from} imports ${to}`;

describe('the import rules', () => {
  test('see the imports of every kind', () => {
    expect(imports.map(show)).toEqual(
      expect.arrayContaining([
        'src/server/requestServer.ts imports src/server/openStorage.ts',
        'src/server/openStorage.ts imports src/storage/engines/sqlite/eventLog.ts',
        'src/domain/records/schema/validation.ts imports zod',
        'projections/records.ts imports src/domain/records/catalog.ts',
        'src/modules/records/commands/documents.ts imports src/domain/records/document.ts',
      ]),
    );
  });

  test('let a room import what it names', () => {
    const actual = Object.keys(rooms).map((room) => {
      const imported = imports
        .filter((one) => isOurs(one) && roomOf(one.from) === room)
        .map(({ to }) => roomOf(to));
      return [room, [...new Set(imported)].filter((other) => other !== room).toSorted()];
    });
    expect(actual).toEqual(Object.entries(rooms).map(([room, named]) => [room, named.toSorted()]));
    expect(files.map(roomOf).filter((room) => rooms[room] === undefined)).toEqual([]);
  });

  test('let no room import one that comes after it, so that there is no cycle', () => {
    const order = Object.keys(rooms);
    const upwards = Object.entries(rooms).flatMap(([room, named]) =>
      named.filter((other) => order.indexOf(other) >= order.indexOf(room)).map((other) => [room, other]),
    );
    expect(upwards).toEqual([]);
  });

  test('keep the engines apart from each other', () => {
    const broken = imports.filter(
      ({ from, to }) =>
        from.startsWith('src/backends/') &&
        to.startsWith('src/backends/') &&
        !['shared', engineOf(from)].includes(engineOf(to)),
    );
    expect(broken.map(show)).toEqual([]);
  });

  test('keep input and output out of the pure rooms', () => {
    const broken = imports.filter((one) => {
      const packages = pure[roomOf(one.from)];
      if (packages === undefined || isOurs(one)) return false;
      return !packages.includes(one.to) && !(one.typeOnly && /^(?:node:|zod$)/.test(one.to));
    });
    expect(broken.map(show)).toEqual([]);
  });

  test('keep drivers in their backends and the web framework in http', () => {
    const homes: Record<string, string> = {
      'node:sqlite': 'src/backends/sqlite/',
      '@eventstore/db-client': 'src/backends/eventstoredb/',
      '@kurrent/kurrentdb-client': 'src/backends/eventstoredb/drivers/',
      mongodb: 'src/backends/',
      '@google-cloud/storage': 'src/backends/gcs/',
      'express-session': 'src/dashboard/',
      'hono/html': 'src/dashboard/',
      busboy: 'src/http/',
      'openid-client': 'src/principals/',
      commander: 'src/cli/',
    };
    const broken = imports.filter(({ from, to }) => homes[to] !== undefined && !from.startsWith(homes[to]));
    expect(broken.map(show)).toEqual([]);
  });

  test('leave the environment to the entry points', () => {
    const readers = files.filter((file) => /process\.env\b/.test(readFileSync(file, 'utf8')));
    expect(
      readers.filter(
        (file) => file !== 'src/main.ts' && !file.startsWith('src/cli/') && file !== 'src/server/stores.ts',
      ),
    ).toEqual([]);
  });
});

test('the client has nothing of the service but the types of its document, and needs one package', () => {
  const outward = clientFiles
    .flatMap(importsOf)
    .filter(({ to }) => !to.startsWith('clients/typescript/src/'));
  expect([...new Set(outward.map(({ to }) => to))]).toEqual(['openapi-fetch']);
});

describe('every file', () => {
  const owned = [
    ...files,
    ...clientFiles,
    ...readdirSync('test', { recursive: true, encoding: 'utf8' }).map((name) => join('test', name)),
  ];
  const texts = owned
    .filter((name) => name.endsWith('.ts') && !/node_modules|\.output/.test(name))
    .filter((name) => name !== 'test/house/rooms.unit.test.ts')
    .map((name) => ({ name, text: readFileSync(name, 'utf8') }));

  test('has nothing that was put off', () => {
    const open = texts.filter(({ text }) => /\b(?:TODO|FIXME|XXX)\b/.test(text));
    expect(open.map(({ name }) => name)).toEqual([]);
  });
});
