import { connect, type Socket } from 'node:net';

/**
 * Opens a number of readers of the event stream; with `until`, reports how long it took until one had that many
 * events.
 */
export interface ReadersOrder {
  url: string;
  key: string;
  path: string;
  readers: number;
  until?: number;
}

/** Closes the readers once each has been sent at least this many events. */
export interface ReadersEnd {
  closeAfter: number;
}

export type ReadersRequest = ReadersOrder | ReadersEnd;

/** `open`: all have responses; `read`: the one has everything that it waited for; `closed`: all are closed. */
export type ReadersReply =
  | { kind: 'open' }
  | { kind: 'read'; seconds: number; clientCpuSeconds: number }
  | { kind: 'closed' };

const LOOK_EVERY_MS = 20;
const MARK = Buffer.from('\ndata: ');

/** Only counts events, so that it is the service that is measured. */
class Reader {
  events = 0;
  opened = false;
  readonly #socket: Socket;
  #rest = Buffer.alloc(0);

  constructor({ url, key, path }: ReadersOrder, onData: () => void) {
    const { hostname, port } = new URL(url);
    this.#socket = connect(Number(port), hostname);
    this.#socket.write(
      `GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAccept: text/event-stream\r\nx-api-key: ${key}\r\n\r\n`,
    );
    this.#socket.on('data', (bytes: Buffer) => {
      this.#take(bytes);
      onData();
    });
    this.#socket.on('error', () => undefined);
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(bytes: Buffer): void {
    if (!this.opened) {
      if (!bytes.toString('latin1').startsWith('HTTP/1.1 200 ')) throw new Error('a reader was refused');
      this.opened = true;
    }
    // A mark may arrive in two pieces: its first part is looked at again together with what follows.
    const seam = Buffer.concat([this.#rest, bytes.subarray(0, MARK.length - 1)]);
    if (seam.includes(MARK)) this.events += 1;
    for (let at = bytes.indexOf(MARK); at !== -1; at = bytes.indexOf(MARK, at + MARK.length))
      this.events += 1;
    this.#rest = Buffer.concat([this.#rest, bytes.subarray(-MARK.length)]).subarray(1 - MARK.length);
  }
}

let readers: Reader[] = [];

function reply(message: ReadersReply): void {
  process.send?.(message);
}

function start(order: ReadersOrder): void {
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  let told = false;
  const look = () => {
    const [first] = readers;
    if (told || first === undefined) return;
    if (order.until === undefined) {
      told = readers.every(({ opened }) => opened);
      if (told) reply({ kind: 'open' });
    } else if (first.events >= order.until) {
      told = true;
      const { user, system } = process.cpuUsage(cpu);
      const seconds = (performance.now() - startedAt) / 1000;
      reply({ kind: 'read', seconds, clientCpuSeconds: (user + system) / 1e6 });
    }
  };
  readers = Array.from({ length: order.readers }, () => new Reader(order, look));
}

function close({ closeAfter }: ReadersEnd): void {
  if (!readers.every(({ events }) => events >= closeAfter)) {
    setTimeout(close, LOOK_EVERY_MS, { closeAfter });
    return;
  }
  for (const reader of readers) reader.close();
  readers = [];
  reply({ kind: 'closed' });
}

process.on('disconnect', () => process.exit());
process.on('message', (request: ReadersRequest) => {
  if ('closeAfter' in request) close(request);
  else start(request);
});
