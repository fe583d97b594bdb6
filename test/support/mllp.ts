import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { v7 as uuidv7 } from 'uuid';
import { KeyDirectory } from '../../src/modules/auth/keyDirectory.ts';
import { configureSource } from '../../src/modules/integrations/sourceCommands.ts';
import type { Source, SourceInput } from '../../src/modules/integrations/sources.ts';

import { eventually } from './eventually.ts';
import type { TestService } from './service.ts';

export const VT = '\x0b';
export const END = '\x1c\r';

const folder = 'test/fixtures/tls/mllp';

/** A certificate of the tests' own, and its key. */
export function tlsFixture(name: 'server' | 'lab' | 'renewed' | 'ward' | 'stranger') {
  return { cert: readFileSync(`${folder}/${name}.crt`), key: readFileSync(`${folder}/${name}.key`) };
}

/** Settings by which MLLP is spoken over TLS; without `asks` no client certificate is asked for. */
export function tlsSettings(asks = true): Record<string, string> {
  return {
    MLLP_TLS_CERTIFICATE: `${folder}/server.crt`,
    MLLP_TLS_KEY: `${folder}/server.key`,
    ...(asks && { MLLP_TLS_CA: `${folder}/ca.crt` }),
  };
}

/** An address of this machine that no other test sends from. */
export function ownAddress(): string {
  return ['127', ...[0, 0, 0].map(() => randomInt(1, 255))].join('.');
}

/** Configures a source of HL7 v2 in a workspace. */
export async function setSource(
  { eventLog }: Pick<TestService, 'eventLog'>,
  workspace: string,
  input: Omit<SourceInput, 'format'>,
): Promise<Source> {
  const directory = await KeyDirectory.open(eventLog);
  const caller = { workspace, principal: { type: 'operator', id: 'test' }, requestId: uuidv7() } as const;
  try {
    return await configureSource({ eventLog, directory }, caller, { format: 'hl7v2', ...input });
  } finally {
    directory.close();
  }
}

interface Connecting {
  from?: string;
  tls?: { cert?: Buffer; key?: Buffer };
}

/** A sender that does with its connection what a test wants. */
export class RawSender {
  readonly socket: Socket;
  #received = '';

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding('latin1');
    socket.on('error', () => undefined);
    socket.on('data', (text) => {
      this.#received += text;
    });
  }

  static async connect(port: number, { from, tls }: Connecting = {}): Promise<RawSender> {
    const place = { host: '127.0.0.1', port, ...(from && { localAddress: from }) };
    const socket = tls
      ? connectTls({ ...place, ...tls, ca: readFileSync(`${folder}/ca.crt`), servername: 'localhost' })
      : connect(place);
    const sender = new RawSender(socket);
    await once(socket, tls ? 'secureConnect' : 'connect');
    return sender;
  }

  /** Connects as one whose connections are a source's, once that is known everywhere. */
  static claimed(port: number, connecting: Connecting = {}): Promise<RawSender> {
    return eventually(async () => {
      const sender = await RawSender.connect(port, connecting);
      // Whoever is nobody's is closed, and gets no answer.
      await sender.send('');
      return sender;
    });
  }

  write(bytes: string | Buffer): void {
    this.socket.write(bytes);
  }

  /** Sends a message in a frame, and gives its acknowledgement. */
  async send(message: string | Buffer): Promise<string[]> {
    this.write(Buffer.concat([Buffer.from(VT), Buffer.from(message), Buffer.from(END)]));
    return this.next();
  }

  /** The next acknowledgement: the fields of its MSA, and of ERR where there is one; rejects when the connection is closed before. */
  async next(): Promise<string[]> {
    const text = await eventually(() => {
      const end = this.#received.indexOf(END);
      if (end > 0) return this.#received.slice(VT.length, end);
      if (this.socket.closed) return undefined;
      throw new Error('there is no acknowledgement yet');
    });
    if (text === undefined) throw new Error('the connection is closed');
    this.#received = this.#received.slice(VT.length + text.length + END.length);
    return text
      .split('\r')
      .filter((line) => /^(?:MSA|ERR)/.test(line))
      .flatMap((line) => line.split('|'));
  }

  /** Resolves when the other side has closed the connection, with what it sent that nobody has looked at. */
  async closed(): Promise<string> {
    if (!this.socket.closed) await new Promise((resolve) => this.socket.once('close', resolve));
    return this.#received;
  }

  async end(): Promise<void> {
    this.socket.end();
    await this.closed();
  }
}
