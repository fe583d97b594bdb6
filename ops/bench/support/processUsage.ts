import { readdirSync, readFileSync } from 'node:fs';

/** Processor time of one thread, in microseconds. */
export interface ThreadUsage {
  name: string;
  microseconds: number;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/**
 * Returns the processor time of each thread of a process by its id, to the nanosecond; none where the system does not
 * report it.
 */
export function threadUsages(pid: number): Map<string, ThreadUsage> {
  const usages = new Map<string, ThreadUsage>();
  if (process.platform !== 'linux') return usages;
  const folder = `/proc/${pid}/task`;
  for (const thread of readdirSync(folder).sort((a, b) => Number(a) - Number(b))) {
    // A thread may end between the two.
    const nanoseconds = read(`${folder}/${thread}/schedstat`)?.split(' ')[0];
    if (nanoseconds === undefined) continue;
    const name = read(`${folder}/${thread}/comm`)?.trim() ?? '';
    usages.set(thread, { name, microseconds: Number(nanoseconds) / 1000 });
  }
  return usages;
}

/** What Linux shows for a worker thread for which Node was given no name. */
const UNNAMED = 'WorkerThread';

/**
 * Returns what each thread used between two readings. Workers without a name are numbered, in the order of their
 * start.
 */
export function usedByThreads(
  before: Map<string, ThreadUsage>,
  after: Map<string, ThreadUsage>,
): ThreadUsage[] {
  let unnamed = 0;
  return [...after].map(([thread, { name, microseconds }]) => ({
    name: name === UNNAMED ? `${name} ${++unnamed}` : name,
    microseconds: microseconds - (before.get(thread)?.microseconds ?? 0),
  }));
}

/**
 * Returns the processor time that the threads of a process have used, in microseconds; NaN where the system does not
 * report it.
 */
export function cpuMicroseconds(pid: number): number {
  const usages = [...threadUsages(pid).values()];
  if (usages.length === 0) return Number.NaN;
  return usages.reduce((sum, { microseconds }) => sum + microseconds, 0);
}

/**
 * Returns the resident memory of a process in MB: all of it, and the part that is not pages of a file. NaN where not
 * reported.
 */
export function residentMegabytes(pid: number): { all: number; anonymous: number } {
  const status = read(`/proc/${pid}/status`) ?? '';
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1024;
  return { all: field('VmRSS'), anonymous: field('RssAnon') };
}
