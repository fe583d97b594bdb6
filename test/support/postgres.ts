import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, globSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface PostgresServer {
  /** Of its database, through a socket. */
  url: string;
  stop(): Promise<void>;
}

/** The folder of PostgreSQL's programs, where Debian's package has them; undefined where it is not installed. */
export const postgresPrograms = globSync('/usr/lib/postgresql/*/bin').sort().at(-1);

/** Starts a PostgreSQL server with an empty database; it refuses to run as root, so another user runs it then. */
export async function startPostgres(programs: string): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'chartledger-pg-'));
  const isRoot = process.getuid?.() === 0;
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  const user = isRoot ? { uid: idOf('-u'), gid: idOf('-g') } : {};
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const options = { ...user, cwd: folder };
  execFileSync(join(programs, 'initdb'), ['-D', data, '-U', 'analyst', '-A', 'trust', '--no-sync'], {
    ...options,
    stdio: 'ignore',
  });
  const settings = ['listen_addresses=', `unix_socket_directories=${folder}`, 'fsync=off'];
  const server = spawn(join(programs, 'postgres'), ['-D', data, ...settings.flatMap((one) => ['-c', one])], {
    ...options,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  for await (const text of server.stderr.iterator({ destroyOnReturn: false }))
    if (String(text).includes('ready to accept connections')) break;
  server.stderr.resume();
  return {
    url: `postgres://analyst@/postgres?host=${encodeURIComponent(folder)}`,
    async stop() {
      server.kill('SIGINT');
      await once(server, 'exit');
    },
  };
}
