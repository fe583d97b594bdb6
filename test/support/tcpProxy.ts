import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to a server that can be frozen, as a stopped process is, or cut. */
export interface TcpProxy {
  host: string;
  port: number;
  /** Connections are taken, and nothing comes through. */
  freeze(): void;
  /** Connections are broken off, and new ones refused at once. */
  cut(): void;
  /** All is well again; what was sent meanwhile comes through. */
  restore(): void;
  close(): Promise<void>;
}

/** Starts a proxy on a port of its own. */
export async function tcpProxy(to: { host: string; port: number }): Promise<TcpProxy> {
  let state: 'well' | 'frozen' | 'cut' = 'well';
  const sockets = new Set<Socket>();
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    if (state === 'frozen') socket.pause();
  };
  const server = createServer((client) => {
    if (state === 'cut') return client.destroy();
    const upstream = connect(to.port, to.host);
    client.pipe(upstream).on('close', () => client.destroy());
    upstream.pipe(client).on('close', () => upstream.destroy());
    track(client);
    track(upstream);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    freeze() {
      state = 'frozen';
      for (const socket of sockets) socket.pause();
    },
    cut() {
      state = 'cut';
      for (const socket of sockets) socket.destroy();
    },
    restore() {
      state = 'well';
      for (const socket of sockets) socket.resume();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
