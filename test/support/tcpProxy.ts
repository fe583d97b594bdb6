import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to a server that can be frozen, as a stopped process is, or cut. */
export interface TcpProxy {
  host: string;
  port: number;
  /** Connections are taken, and nothing comes through. */
  freeze(): void;
  /** Connections are broken off, and new ones are broken off at once. */
  cut(): void;
  /** Connections are broken off with a reset, of which the client hears when it next writes; new ones are well. */
  reset(): void;
  /** All is well again; what was sent to a frozen one comes through. */
  restore(): void;
  close(): Promise<void>;
}

/** Starts a proxy on a port of its own. */
export async function tcpProxy(to: { host: string; port: number }): Promise<TcpProxy> {
  let state: 'well' | 'frozen' | 'cut' = 'well';
  const links = new Map<Socket, Socket>();
  const link = (from: Socket, into: Socket) => {
    links.set(from, into);
    from
      .on('error', () => undefined)
      .on('close', () => {
        links.delete(from);
        into.destroy();
      });
    if (state === 'well') from.pipe(into);
  };
  const server = createServer((client) => {
    if (state === 'cut') return client.destroy();
    const upstream = connect(to.port, to.host);
    link(client, upstream);
    link(upstream, client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    freeze() {
      state = 'frozen';
      for (const from of links.keys()) from.unpipe();
    },
    cut() {
      state = 'cut';
      for (const from of links.keys()) from.destroy();
    },
    reset() {
      for (const from of links.keys()) from.resetAndDestroy();
    },
    restore() {
      if (state === 'frozen') for (const [from, into] of links) from.pipe(into);
      state = 'well';
    },
    async close() {
      for (const from of links.keys()) from.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
