import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Logger } from 'pino';
import { unavailable } from '../../platform/errors.ts';
import { listeningAddress } from '../../platform/listeningAddress.ts';
import { createHttpServer, type HttpTimes } from './createHttpServer.ts';
import { RefusedConnections } from './RefusedConnections.ts';

export interface HttpServerSettings {
  host: string;
  /** 0: any free port. */
  port: number;
  /** Threads of this process that listen there. */
  requestThreads: number;
  /** How long an unused connection is kept open. */
  keepAliveSeconds: number;
  /** How long requests under way may take to finish when the server drains. */
  drainSeconds: number;
  /** The prefix of its settings' names: none, or `METRICS_`. */
  prefix?: string;
}

/**
 * Connections waiting to be accepted, as far as the system allows (`net.core.somaxconn`). Node's default is 511: a
 * client that finds no room in a burst hears nothing, and tries again after one, three and seven seconds.
 */
const BACKLOG = 4_096;

/** The HTTP server of the service. */
export class HttpServer {
  readonly #server: Server;
  readonly #settings: HttpServerSettings;
  readonly #refused: RefusedConnections;
  readonly #connections = new Set<Socket>();

  private constructor(server: Server, settings: HttpServerSettings, logger: Logger) {
    this.#server = server;
    this.#settings = settings;
    this.#refused = new RefusedConnections(server, settings.requestThreads, logger);
    server.on('connection', (socket) => {
      this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
    });
  }

  /**
   * For use where several threads are to listen: rejects as `listen` does when something already listens there, which
   * the system would otherwise let them share.
   */
  static async requireFree(settings: HttpServerSettings): Promise<void> {
    const server = createServer();
    await listening(server, settings, false);
    server.close();
    await once(server, 'close');
  }

  /** Listens; rejects with `unavailable`, whose `problem` names the address and what to do. */
  static async listen(
    listener: RequestListener,
    settings: HttpServerSettings,
    logger: Logger,
    times?: HttpTimes,
  ): Promise<HttpServer> {
    const { keepAliveSeconds, requestThreads } = settings;
    const server = createHttpServer(listener, logger, times);
    server.keepAliveTimeout = keepAliveSeconds * 1_000;
    await listening(server, settings, requestThreads > 1);
    return new HttpServer(server, settings, logger);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Where it listens, as a client on this machine reaches it: `http://127.0.0.1:3000`. */
  get url(): string {
    return listeningAddress(this.#settings.host, this.port);
  }

  /** Accepts no more connections; resolves when the last one has ended, or was ended because its time was up. */
  async drain(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeIdleConnections();
    // To Node, a connection on which nothing has come yet is one with a request: browsers keep such connections for later.
    for (const socket of this.#connections) if (socket.bytesRead === 0) socket.destroy();
    const force = setTimeout(() => this.#server.closeAllConnections(), this.#settings.drainSeconds * 1_000);
    await closed;
    clearTimeout(force);
    this.#refused.close();
  }
}

/** Resolves when the server listens, with `reusePort` alongside other threads. */
async function listening(server: Server, settings: HttpServerSettings, reusePort: boolean): Promise<void> {
  const { host, port } = settings;
  server.listen({ host, port, reusePort, backlog: BACKLOG });
  await once(server, 'listening').catch((error) => {
    throw unavailable('address', error, listenProblem(settings, error));
  });
}

function listenProblem(
  { host, port, prefix = '' }: HttpServerSettings,
  { code }: NodeJS.ErrnoException,
): string {
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  switch (code) {
    case 'EADDRINUSE':
      return `${address} is in use by another process. Set ${prefix}PORT to another port.`;
    case 'EACCES':
      return `${address} needs privileges. Set ${prefix}PORT to 1024 or more.`;
    case 'ENOTSUP':
      return 'This system does not let threads share a port. Set REQUEST_THREADS to 1.';
    default:
      return `${host} is not an address of this machine (${code}). Set ${prefix}HOST to one that is, without brackets: 127.0.0.1, ::1, or 0.0.0.0 for all.`;
  }
}
