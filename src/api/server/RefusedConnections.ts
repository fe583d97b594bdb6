import type { Server } from 'node:http';
import { report } from 'node:process';
import type { Logger } from 'pino';

/**
 * File descriptors reserved for threads, stores, documents and webhooks: a quarter, or at least this many; a service
 * at rest has 70 open.
 */
const LEAST_RESERVE = 128;
const TELL_EVERY_MS = 60_000;

/**
 * Keeps a server from taking the last file descriptors: without any, the system would silently end connections, and
 * stores would fail. Connections beyond that are refused and logged, at most once a minute.
 */
export class RefusedConnections {
  readonly #logger: Logger;
  readonly #limits: { connections: number; fileDescriptors: number } | undefined;
  #refused = 0;
  #pause: NodeJS.Timeout | undefined;

  /** `threads`: servers of this process, each of which takes a share. */
  constructor(server: Server, threads: number, logger: Logger) {
    this.#logger = logger;
    const fileDescriptors = openFilesLimit();
    if (fileDescriptors === undefined) return;
    const reserve = Math.max(LEAST_RESERVE, Math.ceil(fileDescriptors / 4));
    server.maxConnections = Math.max(1, Math.floor((fileDescriptors - reserve) / threads));
    this.#limits = { connections: server.maxConnections, fileDescriptors };
    server.on('drop', () => this.#count());
  }

  close(): void {
    clearTimeout(this.#pause);
    this.#tell();
  }

  #count(): void {
    this.#refused += 1;
    if (this.#pause !== undefined) return;
    this.#tell();
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#tell();
    }, TELL_EVERY_MS).unref();
  }

  #tell(): void {
    if (this.#refused === 0) return;
    const fields = { refused: this.#refused, ...this.#limits };
    this.#logger.error(fields, 'connections were refused: raise the limit of open files (ulimit -n)');
    this.#refused = 0;
  }
}

/** Returns how many files this process may have open; undefined where that is not limited, or not known. */
function openFilesLimit(): number | undefined {
  // It would otherwise look up the names of the peers.
  Object.assign(report, { excludeNetwork: true });
  const { userLimits } = report.getReport() as { userLimits?: { open_files: { soft: number | string } } };
  const soft = Number(userLimits?.open_files.soft);
  return Number.isFinite(soft) ? soft : undefined;
}
