import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { STORE_FORMAT } from '../../src/storage/storeFormat.ts';

interface Locked {
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  devOptional?: boolean;
}

const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const lock: Record<string, Locked> = JSON.parse(readFileSync('package-lock.json', 'utf8')).packages;

/** Whether a package that another one needs is in the lock, where Node would find it. */
function isLocked(from: string, name: string): boolean {
  for (let folder = from; ; folder = posix.dirname(folder)) {
    if (lock[posix.join(folder, 'node_modules', name)]) return true;
    if (folder === '.' || folder === '') return false;
  }
}

test('package-lock.json has every package of every platform, so that `npm ci` works everywhere', () => {
  const missing = Object.entries(lock).flatMap(([place, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .filter((name) => !isLocked(place, name))
      .map((name) => `${name}, of ${place}`),
  );
  expect(missing).toEqual([]);
});

test('the bill of materials names what the service runs with, and nothing that its tests do', () => {
  const bill = JSON.parse(
    execFileSync('npm', ['run', '-s', 'sbom'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  );
  expect(bill).toMatchObject({
    bomFormat: 'CycloneDX',
    metadata: { component: { name: manifest.name, version: manifest.version } },
  });
  const named = bill.components.map(({ group, name }: { group?: string; name: string }) =>
    group ? `${group}/${name}` : name,
  );
  expect(named).toEqual(expect.arrayContaining(Object.keys(manifest.dependencies)));
  expect(named).not.toContain('vitest');
});

test('a release builds both architectures on a pinned base, and says where the image comes from', () => {
  const { jobs } = parse(readFileSync('.github/workflows/release.yml', 'utf8'));
  expect(jobs.release.needs).toBe('test');
  const steps: { uses?: string; run?: string; with?: Record<string, unknown> }[] = jobs.release.steps;
  const build = steps.find(({ uses }) => uses?.startsWith('docker/build-push-action@'));
  expect(build?.with).toMatchObject({
    file: 'ops/Dockerfile',
    platforms: 'linux/amd64,linux/arm64',
    'build-args': expect.stringMatching(/^BASE=/),
    provenance: 'mode=max',
  });
  const pin = steps.find(({ run }) => run?.includes('imagetools inspect'));
  expect(pin?.run).toContain("sed -n 's/^ARG BASE=//p' ops/Dockerfile");
  expect(steps.some(({ uses }) => uses?.startsWith('actions/attest-build-provenance@'))).toBe(true);
  expect(steps.some(({ run }) => run === 'npm run -s sbom > sbom.json')).toBe(true);
});

test('upgrade.md names the format of each version: the last is this one, and a format has a version of its own', () => {
  const page = readFileSync('docs/operate/upgrade.md', 'utf8');
  const rows = [...page.matchAll(/^\| (\d+\.\d+\.\d+) +\| (\d+) /gm)];
  const versions = rows.map(([, version]) => version);
  const formats = rows.map(([, , format]) => Number(format));
  expect([versions.at(-1), formats.at(-1)]).toEqual([manifest.version, STORE_FORMAT]);
  expect(new Set(versions).size).toBe(versions.length);
  expect(formats).toEqual(formats.toSorted((a, b) => a - b));
  expect(new Set(formats)).toEqual(new Set(Array.from({ length: STORE_FORMAT }, (_, n) => n + 1)));
});

test.each(['ci', 'release'])(
  'the workflow %s may only read, names actions by digest, and leaves no token behind',
  (name) => {
    const workflow = parse(readFileSync(`.github/workflows/${name}.yml`, 'utf8'));
    expect(workflow.permissions).toEqual({ contents: 'read' });
    const jobs: { steps: { uses?: string; with?: object }[] }[] = Object.values(workflow.jobs);
    const uses = jobs.flatMap(({ steps }) => steps).filter((step) => step.uses !== undefined);
    for (const step of uses) expect(step.uses).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
    const checkouts = uses.filter((step) => step.uses?.startsWith('actions/checkout@'));
    expect(checkouts).toHaveLength(jobs.length);
    for (const step of checkouts) expect(step.with).toMatchObject({ 'persist-credentials': false });
  },
);
