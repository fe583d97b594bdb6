import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The parts of a `.cpuprofile` that are used here. */
interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
}

const SHOWN = 30;
const root = fileURLToPath(new URL('../../', import.meta.url));

type Frame = Profile['nodes'][number]['callFrame'];

function fileOf({ functionName, url }: Frame): string {
  const path = url.startsWith('file://') ? fileURLToPath(url).replace(root, '') : url;
  const inPackage = path.split('node_modules/').at(-1) as string;
  return inPackage || functionName || '(anonymous)';
}

function functionOf(frame: Frame): string {
  const { functionName, url, lineNumber } = frame;
  const name = functionName || '(anonymous)';
  return url ? `${name} ${fileOf(frame)}:${lineNumber + 1}` : name;
}

/** Returns a package, a module of Node, or a file of the service. */
function moduleOf(frame: Frame): string {
  const file = fileOf(frame);
  if (frame.url.includes('node_modules/'))
    return file
      .split('/')
      .slice(0, file.startsWith('@') ? 2 : 1)
      .join('/');
  return file;
}

/**
 * Returns milliseconds of self time, without what is called from there, grouped by what `groupOf` returns for a
 * frame.
 */
function selfTimes(
  { nodes, samples, timeDeltas }: Profile,
  groupOf: (frame: Frame) => string,
): Map<string, number> {
  const groups = new Map(nodes.map(({ id, callFrame }) => [id, groupOf(callFrame)]));
  const times = new Map<string, number>();
  for (const [index, sample] of samples.entries()) {
    const group = groups.get(sample) as string;
    times.set(group, (times.get(group) ?? 0) + (timeDeltas[index] as number) / 1000);
  }
  times.delete('(idle)');
  return times;
}

function table(title: string, times: Map<string, number>): string {
  const busy = [...times.values()].reduce((sum, time) => sum + time, 0);
  const lines = [...times]
    .sort(([, a], [, b]) => b - a)
    .slice(0, SHOWN)
    .map(([what, time]) => `| ${what} | ${((100 * time) / busy).toFixed(1)} % | ${Math.round(time)} |`);
  return [`| ${title} | of busy time | ms |`, '| --- | ---: | ---: |', ...lines].join('\n');
}

const folder = process.argv[2];
if (folder === undefined) throw new Error('node ops/bench/profile.ts FOLDER');
for (const name of readdirSync(folder).filter((file) => file.endsWith('.cpuprofile'))) {
  const profile: Profile = JSON.parse(readFileSync(join(folder, name), 'utf8'));
  const tables = [
    table('function', selfTimes(profile, functionOf)),
    table('module', selfTimes(profile, moduleOf)),
  ];
  process.stdout.write(`## ${name}\n\n${tables.join('\n\n')}\n\n`);
}
