import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { openapiDocument } from '../../src/api/routes/index.ts';
import { type OpenApiDocument, operationsOf } from '../../src/dashboard/pages/reference/outline.ts';
import { pythonSample, typescriptSample } from '../../src/dashboard/pages/reference/samples.ts';

import { temporaryFolder } from '../support/cli.ts';

const operations = operationsOf((openapiDocument(false) as OpenApiDocument).paths);

test('every sample in TypeScript fits the types of the client', () => {
  const folder = temporaryFolder();
  mkdirSync(folder, { recursive: true });
  for (const placed of operations) {
    writeFileSync(join(folder, `${placed.operation.operationId}.mts`), typescriptSample(placed));
  }
  const compilerOptions = {
    paths: { 'chartledger-client': [resolve('clients/typescript/src/index.ts')] },
    typeRoots: [resolve('node_modules/@types')],
    types: ['node'],
  };
  const config = { extends: resolve('tsconfig.json'), compilerOptions, include: ['*.mts'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const { status, stdout } = spawnSync(resolve('node_modules/.bin/tsc'), ['-p', folder], {
    encoding: 'utf8',
  });
  expect(stdout).toBe('');
  expect(status).toBe(0);
}, 120_000);

/** Reads programs, and gives the names that they look up on the client, dotted. */
const readPython = `
import ast, json, sys
found = []
for program in json.load(sys.stdin):
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name.startswith("chartledger."):
                found.append(name.removeprefix("chartledger."))
print(json.dumps(found))
`;

function hasPython(): boolean {
  try {
    execFileSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 10))'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

test.skipIf(!hasPython())(
  'every sample in Python is a program that calls what the client has',
  () => {
    const input = JSON.stringify(operations.map(pythonSample));
    const calls = JSON.parse(execFileSync('python3', ['-c', readPython], { input, encoding: 'utf8' }));
    const kinds = ['payers', 'patients', 'providers', 'facilities', 'encounters'];
    const ofRecords = ['upsert', 'list', 'patch', 'read', 'history'];
    const ofDocuments = ['upload', 'list', 'download', 'remove', 'history'];
    expect([...new Set(calls)].toSorted()).toEqual(
      [
        ...kinds.flatMap((kind) => ofRecords.map((method) => `${kind}.${method}`)),
        ...ofDocuments.map((method) => `documents.${method}`),
        ...['encounters.readiness', 'encounters.worklist', 'search', 'batch', 'events', 'request'],
      ].toSorted(),
    );
  },
  60_000,
);
