import { constants, createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import {
  createSecureContext,
  createServer as createTlsServer,
  type SecureContextOptions,
  TLSSocket,
  type Server as TlsServer,
} from 'node:tls';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { networkOf } from '../../modules/auth/signIn.ts';
import { canonicalCertificate, type Peer } from '../../modules/integrations/sources.ts';
import type { MllpSettings } from '../../platform/config.ts';
import { describeError, ServiceError, unavailable } from '../../platform/errors.ts';
import { plainAddress } from '../server/requestContext.ts';
import {
  answerMessage,
  type MllpPorts,
  messagesIn,
  type NoSender,
  type Sender,
  type SenderPorts,
  Senders,
} from './answer.ts';
import { type ConnectionTimes, type Frame, MessageNotAccepted, MllpConnection } from './connection.ts';

/** Why a connection is closed before anything is read from it. */
type PeerRefusal = NoSender | 'not_trusted' | 'no_tls' | 'not_identified' | 'too_many';

const texts: Record<PeerRefusal, string> = {
  no_source: 'an MLLP connection matches no source: bind one to its network or certificate',
  several_sources: 'several sources match an MLLP connection, so none gets it: make them distinct',
  several_workspaces:
    'no source is bound to MLLP connections, and there is not exactly one active workspace: bind a source',
  not_trusted: 'a client certificate is not trusted: see MLLP_TLS_CA, and whether it has expired',
  no_tls: 'an MLLP connection could not negotiate TLS',
  not_identified: 'the sender of an MLLP connection was not identified in time: it made no TLS handshake',
  too_many:
    'the maximum number of MLLP connections is open, or the share of one address, source or workspace: see MLLP_CONNECTIONS',
};

const REPORT_INTERVAL_MS = 60_000;
const MAX_REPORTED = 1_000;

/** Reports closed connections to operators: once a minute per address and reason, as senders keep coming back. */
class RefusedPeers {
  readonly #logger: Logger;
  readonly #reported = new LRUCache<string, true>({ max: MAX_REPORTED, ttl: REPORT_INTERVAL_MS });

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  report(reason: PeerRefusal, address: string, port: number): void {
    const what = `${reason} ${address} ${port}`;
    if (this.#reported.has(what)) return;
    this.#reported.set(what, true);
    this.#logger.warn({ reason, address, port }, texts[reason]);
  }
}

/** The files used for TLS, and a digest of them by which a change is detected. */
interface TlsFiles {
  context: SecureContextOptions;
  digest: string;
}

/** Reads the files. Rejects with `unavailable`, whose `problem` names the file and what is wrong. */
export async function readTlsFiles(paths: NonNullable<MllpSettings['tls']>): Promise<TlsFiles> {
  const cert = await read('MLLP_TLS_CERTIFICATE', paths.certificate);
  const key = await read('MLLP_TLS_KEY', paths.key);
  const ca = paths.ca === undefined ? undefined : await read('MLLP_TLS_CA', paths.ca);
  // Without sessions to resume, a client's identity is checked for each connection.
  const context = { cert, key, ...(ca && { ca }), secureOptions: constants.SSL_OP_NO_TICKET };
  try {
    createSecureContext(context);
  } catch (error) {
    const problem =
      'The files of MLLP_TLS_CERTIFICATE, MLLP_TLS_KEY and MLLP_TLS_CA must be a certificate, its key, and certificates of authorities, in PEM.';
    throw unavailable('certificate', error, problem);
  }
  const digest = createHash('sha256');
  for (const bytes of [cert, key, ca ?? '']) digest.update(bytes);
  return { context, digest: digest.digest('hex') };
}

async function read(setting: string, path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw unavailable('certificate', error, `${path} (${setting}) cannot be read (${code}).`);
  }
}

/** How long a frame may take to arrive, and its sender to be identified: a TLS handshake, and a look at the bindings. */
const FRAME_MS = 60_000;
const IDENTIFY_MS = 15_000;
/** How often to check whether the TLS files have been replaced. */
const RELOAD_MS = 60_000;

/** Receives HL7 v2 messages over MLLP, over TLS where that is configured. */
export class MllpListener {
  readonly #ports: MllpPorts;
  readonly #settings: MllpSettings;
  readonly #senders: Senders;
  readonly #refused: RefusedPeers;
  readonly #times: ConnectionTimes;
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #places: ConnectionSlots;
  /** Connections whose sender is not known yet have places apart from the others. */
  readonly #unidentified: ConnectionSlots;
  /** These connections, by their two ends, and how each gives its place back. */
  readonly #strangers = new Map<string, { socket: Socket; leave(): void }>();
  readonly #connections = new Set<MllpConnection>();
  readonly #serving = new Set<Promise<void>>();
  #reloading: NodeJS.Timeout | undefined;
  #isDraining = false;

  private constructor(ports: MllpPorts & SenderPorts, settings: MllpSettings, times?: ConnectionTimes) {
    this.#ports = ports;
    this.#settings = settings;
    this.#senders = new Senders(ports);
    this.#refused = new RefusedPeers(ports.logger);
    this.#places = new ConnectionSlots(settings.connections);
    this.#unidentified = new ConnectionSlots(settings.connections);
    this.#times = times ?? {
      identify: IDENTIFY_MS,
      idle: settings.idleSeconds * 1_000,
      frame: FRAME_MS,
    };
  }

  /**
   * Listens; rejects with `unavailable`, whose `problem` says what to do, and leaves nothing open then. `times` is
   * set only by tests.
   */
  static async listen(
    ports: MllpPorts & SenderPorts,
    settings: MllpSettings,
    times?: ConnectionTimes,
  ): Promise<MllpListener> {
    const listener = new MllpListener(ports, settings, times);
    try {
      await listener.#listen();
    } catch (error) {
      for (const server of listener.#servers) server.close();
      throw error;
    }
    return listener;
  }

  /** The ports on which it listens, in the order of the settings. */
  get ports(): number[] {
    return this.#servers.map((server) => (server.address() as AddressInfo).port);
  }

  /**
   * Accepts no more connections, ends those whose sender is not known yet, and the others once the message under way is acknowledged; those that
   * take longer than `seconds` are ended anyway.
   */
  async drain(seconds: number): Promise<void> {
    this.#isDraining = true;
    clearInterval(this.#reloading);
    const closed = this.#servers.map((server) => once(server, 'close'));
    for (const server of this.#servers) server.close();
    for (const { socket } of this.#strangers.values()) socket.destroy();
    for (const connection of this.#connections) connection.drain();
    const force = setTimeout(() => {
      void this.#ports.batches.close();
      for (const socket of this.#sockets) socket.destroy();
    }, seconds * 1_000);
    await Promise.all([...closed, ...this.#serving]);
    clearTimeout(force);
  }

  async #listen(): Promise<void> {
    const { host, ports, tls } = this.#settings;
    const files = tls && (await readTlsFiles(tls));
    for (const port of ports) {
      const server = files
        ? this.#tlsServer(files)
        : createServer(socketOptions, (socket) => this.#accept(socket));
      this.#servers.push(server);
      server.prependListener('connection', (socket: Socket) => this.#admit(socket));
      server.listen({ host, port });
      await once(server, 'listening').catch((error) => {
        throw unavailable('address', error, listenProblem(host, port, error));
      });
    }
    if (files) this.#reload(files);
  }

  #tlsServer({ context }: TlsFiles): TlsServer {
    const server = createTlsServer(
      {
        ...socketOptions,
        ...context,
        requestCert: context.ca !== undefined,
        // A client without one may be identified by its network; an untrusted one is refused, and reported.
        rejectUnauthorized: false,
      },
      (socket) => this.#accept(socket),
    );
    server.on('tlsClientError', (_error, socket) => {
      this.#refuse('no_tls', socket);
      socket.destroy();
    });
    return server;
  }

  /** Gives a connection a place until its sender is identified, which must not take long, whatever it sends. */
  #admit(socket: Socket): void {
    socket.on('error', () => undefined);
    const releasePlace = this.#unidentified.reserve(new Map([[networkOfPeer(socket), SHARE_UNIDENTIFIED]]));
    if (releasePlace === undefined) {
      this.#refuse('too_many', socket);
      socket.destroy();
      return;
    }
    const late = setTimeout(() => {
      this.#refuse('not_identified', socket);
      socket.destroy();
    }, this.#times.identify);
    const ends = endsOf(socket);
    const leave = () => {
      clearTimeout(late);
      this.#strangers.delete(ends);
      releasePlace();
    };
    this.#strangers.set(ends, { socket, leave });
    this.#sockets.add(socket);
    socket.once('close', () => {
      leave();
      this.#sockets.delete(socket);
    });
  }

  #accept(socket: Socket): void {
    socket.on('error', () => undefined);
    if (socket.destroyed) return;
    const serving = this.#serve(socket).finally(() => this.#serving.delete(serving));
    this.#serving.add(serving);
  }

  /** Never rejects. */
  async #serve(socket: Socket): Promise<void> {
    const peer = peerOf(socket);
    const sender = await this.#senderOf(peer, socket);
    if (sender === undefined || this.#isDraining || socket.destroyed) {
      socket.destroy();
      return;
    }
    const leave = this.#places.reserve(
      new Map([
        [`workspace ${sender.workspace.id}`, SHARE_OF_WORKSPACE],
        [`source ${sender.workspace.id} ${sender.source.id}`, SHARE],
        [`network ${networkOfPeer(socket)}`, SHARE],
      ]),
    );
    if (leave === undefined) {
      this.#refuse('too_many', socket);
      socket.destroy();
      return;
    }
    socket.once('close', leave);
    this.#strangers.get(endsOf(socket))?.leave();
    const fields = { source: sender.source.id, workspace: sender.workspace.id, address: peer.address };
    this.#ports.logger.info(fields, 'a sender connected');
    const connection = new MllpConnection(socket, this.#times);
    this.#connections.add(connection);
    const end = await connection.serve((frame) => this.#handle(sender, peer, frame));
    this.#connections.delete(connection);
    this.#ports.logger.info({ ...fields, end }, 'a sender disconnected');
  }

  async #senderOf(peer: Peer, socket: Socket): Promise<Sender | undefined> {
    if (isUntrusted(socket, peer)) {
      this.#refuse('not_trusted', socket);
      return undefined;
    }
    try {
      const found = await this.#senders.of(peer);
      if (typeof found !== 'string') return found;
      this.#refuse(found, socket);
    } catch (error) {
      this.#ports.logger.warn(
        { error: describeError(error) },
        'an MLLP connection cannot be accepted at the moment',
      );
    }
    return undefined;
  }

  async *#handle(sender: Sender, peer: Peer, frame: Frame): AsyncGenerator<Buffer, void> {
    for (const bytes of messagesIn(frame)) {
      const present = await this.#senders.present(sender, peer).catch((error) => {
        this.#ports.logger.warn(
          { error: describeError(error) },
          'a message cannot be accepted at the moment',
        );
        throw new MessageNotAccepted();
      });
      if (present === undefined) throw new MessageNotAccepted();
      yield* await answerMessage(this.#ports, present, peer.address, { ...frame, bytes });
    }
  }

  #refuse(reason: PeerRefusal, socket: Socket): void {
    this.#refused.report(reason, plainAddress(socket.remoteAddress ?? ''), socket.localPort ?? 0);
  }

  /** Loads renewed certificates; where they cannot be read, the earlier ones stand. */
  #reload(files: TlsFiles): void {
    let { digest } = files;
    const look = async () => {
      const { tls } = this.#settings;
      if (tls === undefined) return;
      const read = await readTlsFiles(tls);
      if (read.digest === digest) return;
      digest = read.digest;
      for (const server of this.#servers) (server as TlsServer).setSecureContext(read.context);
      this.#ports.logger.info('the MLLP certificates were reloaded');
    };
    const failed = (error: unknown) => {
      const problem = error instanceof ServiceError ? error.problem : undefined;
      this.#ports.logger.error({ problem }, 'the MLLP certificates could not be reloaded');
    };
    this.#reloading = setInterval(() => look().catch(failed), RELOAD_MS).unref();
  }
}

/** What a sender sent before it closed its side is answered. */
const socketOptions = { allowHalfOpen: true, noDelay: true, keepAlive: true };

/** What one network or source, and one workspace, may hold of the places for connections. */
const SHARE = 1 / 2;
const SHARE_OF_WORKSPACE = 3 / 4;
/** What one network may hold of the places for connections whose sender is not known yet. */
const SHARE_UNIDENTIFIED = 1 / 4;

/** Counts places, of which no single owner can hold all, unless there is only one. */
class ConnectionSlots {
  readonly #all: number;
  readonly #taken = new Map<string, number>();
  #left: number;

  constructor(all: number) {
    this.#all = all;
    this.#left = all;
  }

  /**
   * Takes a place, which counts for each of these owners against its share of all; returns the function that gives it
   * back, or undefined where none is left for them.
   */
  reserve(shares: ReadonlyMap<string, number>): (() => void) | undefined {
    const taken = (owner: string) => this.#taken.get(owner) ?? 0;
    const isFull = (owner: string, share: number) => taken(owner) >= Math.ceil(this.#all * share);
    if (this.#left === 0 || [...shares].some(([owner, share]) => isFull(owner, share))) return undefined;
    this.#left -= 1;
    for (const owner of shares.keys()) this.#taken.set(owner, taken(owner) + 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#left += 1;
      for (const owner of shares.keys()) {
        if (taken(owner) > 1) this.#taken.set(owner, taken(owner) - 1);
        else this.#taken.delete(owner);
      }
    };
  }
}

/** Returns the network as whose a connection counts. */
function networkOfPeer(socket: Socket): string {
  return networkOf(plainAddress(socket.remoteAddress ?? ''));
}

/** Returns what a connection has in common with the TLS connection on it. */
function endsOf({ remoteAddress, remotePort, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localPort}`;
}

function peerOf(socket: Socket): Peer {
  const certificate = socket instanceof TLSSocket && socket.authorized && socket.getPeerX509Certificate();
  return {
    address: plainAddress(socket.remoteAddress ?? ''),
    port: socket.localPort ?? 0,
    ...(certificate && {
      certificate: {
        fingerprint: certificate.fingerprint256,
        subject: canonicalCertificate(certificate.subject) ?? '',
      },
    }),
  };
}

/** Whether its client sent a certificate that proves nothing. */
function isUntrusted(socket: Socket, { certificate }: Peer): boolean {
  return (
    certificate === undefined && socket instanceof TLSSocket && socket.getPeerX509Certificate() !== undefined
  );
}

function listenProblem(host: string, port: number, { code }: NodeJS.ErrnoException): string {
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  if (code === 'EADDRINUSE') return `${address} is in use by another process. Set MLLP_PORT to another port.`;
  if (code === 'EACCES') return `${address} needs privileges. Set MLLP_PORT to 1024 or more.`;
  return `${host} is not an address of this machine (${code}). Set MLLP_HOST to one that is, without brackets: 127.0.0.1, ::1, or 0.0.0.0 for all.`;
}
