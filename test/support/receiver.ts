import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';

/** A message as it arrived. */
export interface Received {
  method: string | undefined;
  path: string | undefined;
  headers: IncomingMessage['headers'];
  body: string;
}

/** An endpoint of the test's own. */
export class Receiver {
  readonly port: number;
  /** Connections that were made to it so far. */
  connections = 0;
  readonly received: Received[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', () => {
      this.connections += 1;
    });
  }

  /** Listens on a port of an address; `answer` is called when the whole message is there. */
  static async listen(
    answer: RequestListener,
    { host = '127.0.0.1', port = 0, tls }: { host?: string; port?: number; tls?: ServerOptions } = {},
  ): Promise<Receiver> {
    const server = tls ? createTlsServer(tls) : createServer();
    server.listen(port, host);
    await once(server, 'listening');
    const receiver = new Receiver(server);
    server.on('request', async (req, res) => {
      let body = '';
      try {
        for await (const chunk of req.setEncoding('utf8')) body += chunk;
      } catch {
        return;
      }
      receiver.received.push({ method: req.method, path: req.url, headers: req.headers, body });
      answer(req, res);
    });
    return receiver;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}
