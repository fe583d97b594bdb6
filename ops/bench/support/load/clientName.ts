import { spawnSync } from 'node:child_process';

/** Returns what sends the requests here: `wrk` with its version where that is installed, otherwise `autocannon`. */
export function clientName(): string {
  const { stdout, error } = spawnSync('wrk', ['-v'], { encoding: 'utf8' });
  const version = /^wrk (\S+)/.exec(stdout ?? '')?.[1];
  return error === undefined && version !== undefined ? `wrk ${version}` : 'autocannon';
}
