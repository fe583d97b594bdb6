import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseEnv } from 'node:util';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/platform/config.ts';
import { settingNames } from '../../src/platform/settings.ts';

const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const instructions = readFileSync('ops/Dockerfile', 'utf8')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line !== '');
const lastStage = instructions.slice(instructions.findLastIndex((line) => line.startsWith('FROM ')));

/** What follows an instruction in the last stage, one entry for each time that it is there. */
function given(instruction: string, lines = lastStage): string[] {
  return lines
    .filter((line) => line.startsWith(`${instruction} `))
    .map((line) => line.slice(instruction.length + 1));
}

describe('ops/Dockerfile', () => {
  test('builds on the Node that the program needs', () => {
    const needed = /NEEDED_MAJOR = (\d+)/.exec(readFileSync('bin/node24.mjs', 'utf8'))?.[1];
    expect(given('FROM', instructions).map((image) => image.replace(' AS dependencies', ''))).toEqual(
      Array(2).fill('$' + '{BASE}'),
    );
    expect(given('ARG', instructions)).toEqual([
      expect.stringMatching(new RegExp(`^BASE=node:${needed}-\\w+-slim$`)),
      'BUILD_ID',
    ]);
  });

  test('copies what is there and what .dockerignore lets through', () => {
    const [first, ...rest] = readFileSync('.dockerignore', 'utf8').trim().split('\n').slice(1);
    expect(first).toBe('*');
    const letThrough = rest.map((line) => line.replace(/^!/, ''));
    const copied = given('COPY', instructions)
      .filter((line) => !line.startsWith('--from'))
      .flatMap((line) => line.split(' ').slice(0, -1));
    expect([...new Set(copied)].sort()).toEqual(letThrough.sort());
    expect(copied.filter((path) => !existsSync(path))).toEqual([]);
  });

  test('installs what the lock file says', () => {
    const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
    expect(lock.packages[''].dependencies).toEqual(manifest.dependencies);
    expect(given('RUN', instructions)[0]).toMatch(
      /^npm pkg delete devDependencies optionalDependencies && npm ci --ignore-scripts /,
    );
  });

  test('gives settings that the service takes, with which it can be reached and keeps its data in the volume', () => {
    const settings = parseEnv(given('ENV').join(' ').replaceAll(' ', '\n'));
    expect(Object.keys(settings).filter((name) => !settingNames.includes(name))).toEqual([]);
    const { port, host, mllp, eventLogUrl, production } = loadConfig(settings);
    expect({ host, mllp: mllp.host, production }).toEqual({
      host: '0.0.0.0',
      mllp: '0.0.0.0',
      production: true,
    });
    expect(given('EXPOSE')).toEqual([[port, ...mllp.ports].join(' ')]);
    expect(given('VOLUME')).toEqual([/^sqlite:(\/\w+)\//.exec(eventLogUrl)?.[1]]);
  });

  test('runs the service itself, as a user that is not root, until SIGTERM', () => {
    expect(given('USER')).toEqual([expect.stringMatching(/^[1-9]\d*:[1-9]\d*$/)]);
    expect(given('STOPSIGNAL')).toEqual(['SIGTERM']);
    const [program, ...parameters] = JSON.parse(given('CMD')[0] as string);
    expect(program).toBe('node');
    expect(existsSync(parameters.at(-1))).toBe(true);
  });

  test.each([
    ['an answer of 200', 200, 0],
    ['an answer of 503', 503, 1],
    ['no answer', undefined, 1],
  ])('checks its health: %s', async (_label, status, expected) => {
    const asked: (string | undefined)[] = [];
    const server = createServer((req, res) => {
      asked.push(req.url);
      res.writeHead(status ?? 500).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    if (status === undefined) server.close();
    const [, ...parameters] = JSON.parse(
      /CMD (\[.*)$/.exec(given('HEALTHCHECK')[0] as string)?.[1] as string,
    );
    const check = spawn(process.execPath, parameters, { env: { PORT: String(port) } });
    const ended = await once(check, 'exit');
    server.close();
    expect(ended).toEqual([expected, null]);
    expect(asked).toEqual(status === undefined ? [] : ['/healthz']);
  });
});
