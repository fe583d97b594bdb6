import { readFileSync } from 'node:fs';

/** Linux counts processor time in hundredths of a second. */
const MICROSECONDS_PER_TICK = 10_000;

function read(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
}

/** Processor time that a process has used in all its threads, in microseconds; NaN where the system does not tell. */
export function cpuMicroseconds(pid: number): number {
  const fields = read(pid, 'stat')
    ?.replace(/^.*\) /s, '')
    .split(' ');
  return fields ? (Number(fields[11]) + Number(fields[12])) * MICROSECONDS_PER_TICK : Number.NaN;
}

/** Resident memory of a process in MB: all of it, and what of it is no page of a file. NaN where not told. */
export function residentMegabytes(pid: number): { all: number; anonymous: number } {
  const status = read(pid, 'status') ?? '';
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1024;
  return { all: field('VmRSS'), anonymous: field('RssAnon') };
}
