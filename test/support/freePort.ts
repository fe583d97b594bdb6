import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { eventually } from './eventually.ts';

/** Below what Linux hands out by itself (ip_local_port_range), so that no outgoing connection takes one while its server is away. */
const PORTS = [20_000, 32_000] as const;

/** The first of so many ports in a row on 127.0.0.1 that nobody has, for a server that goes and comes back. */
export function freePort(count = 1): Promise<number> {
  return eventually(async () => {
    const first = randomInt(...PORTS);
    const servers = Array.from({ length: count }, (_, n) => createServer().listen(first + n, '127.0.0.1'));
    try {
      await Promise.all(servers.map((server) => once(server, 'listening')));
    } finally {
      await Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))));
    }
    return first;
  });
}
