import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A connection of its own, for what clients of HTTP do not let through. */
export interface Connection {
  socket: Socket;
  /** What came back so far. */
  received(): string;
  /** Resolves with what came back, when the service has closed the connection. */
  closed(): Promise<string>;
}

/** Opens a connection and writes these bytes to it. */
export function openConnection(url: string, ...bytes: (string | Buffer)[]): Connection {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  for (const part of bytes) socket.write(part);
  return {
    socket,
    received: () => text,
    async closed() {
      await closed;
      return text;
    },
  };
}

/** A request's head and body, as they stand on the wire. */
export function rawRequest(method: string, path: string, headers: Record<string, string>, body = ''): string {
  const lines = Object.entries({ host: 'localhost', ...headers });
  return `${method} ${path} HTTP/1.1\r\n${lines.map((line) => `${line.join(': ')}\r\n`).join('')}\r\n${body}`;
}

/** The statuses of the answers on a connection, in order. */
export function statusesOf(received: string): number[] {
  return [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
}

/** The JSON body of the last answer on a connection. */
export function lastBodyOf(received: string): Record<string, unknown> {
  return JSON.parse(received.slice(received.lastIndexOf('\r\n\r\n') + 4));
}
