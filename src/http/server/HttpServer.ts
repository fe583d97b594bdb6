import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { unavailable } from '../../errors.ts';
import { listeningAddress } from '../../listeningAddress.ts';
import { type ArrivalTimes, createHttpServer } from './createHttpServer.ts';
import { RefusedConnections } from './RefusedConnections.ts';

export interface HttpServerSettings {
  host: string;
  /** 0: any that is free. */
  port: number;
  /** How long a connection is kept that nobody uses. */
  keepAliveSeconds: number;
  /** How long requests under way may take to end when the server drains. */
  drainSeconds: number;
}

/** The HTTP server of the service. */
export class HttpServer {
  readonly #server: Server;
  readonly #settings: HttpServerSettings;
  readonly #refused: RefusedConnections;

  private constructor(server: Server, settings: HttpServerSettings, logger: Logger) {
    this.#server = server;
    this.#settings = settings;
    this.#refused = new RefusedConnections(server, logger);
  }

  /** Listens; rejects with `unavailable`, whose `problem` names the address and what to do. */
  static async listen(
    listener: RequestListener,
    settings: HttpServerSettings,
    logger: Logger,
    times?: ArrivalTimes,
  ): Promise<HttpServer> {
    const { host, port, keepAliveSeconds } = settings;
    const server = createHttpServer(listener, logger, times);
    server.keepAliveTimeout = keepAliveSeconds * 1_000;
    server.listen(port, host);
    await once(server, 'listening').catch((error) => {
      throw unavailable('address', error, listenProblem(settings, error));
    });
    return new HttpServer(server, settings, logger);
  }

  /** Where it listens, as a client on this machine reaches it: `http://127.0.0.1:3000`. */
  get url(): string {
    const { host } = this.#settings;
    return listeningAddress(host, (this.#server.address() as AddressInfo).port);
  }

  /** Takes no more connections; resolves when the last one has ended, or was ended because its time was over. */
  async drain(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeIdleConnections();
    const force = setTimeout(() => this.#server.closeAllConnections(), this.#settings.drainSeconds * 1_000);
    await closed;
    clearTimeout(force);
    this.#refused.close();
  }
}

function listenProblem({ host, port }: HttpServerSettings, { code }: NodeJS.ErrnoException): string {
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  switch (code) {
    case 'EADDRINUSE':
      return `${address} is in use by another process. Set PORT to another port.`;
    case 'EACCES':
      return `${address} needs privileges. Set PORT to 1024 or more.`;
    default:
      return `${host} is no address of this machine (${code}). Set HOST to one, without brackets: 127.0.0.1, ::1, 0.0.0.0 for all.`;
  }
}
