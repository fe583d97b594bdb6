import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { v7 as uuidv7 } from 'uuid';
import { KeyDirectory } from '../../src/modules/auth/keyDirectory.ts';
import { type MessagePorts, MessageStore } from '../../src/modules/integrations/messages/store.ts';
import { configureSource } from '../../src/modules/integrations/sourceCommands.ts';
import type { Source, SourceInput } from '../../src/modules/integrations/sources.ts';
import type { Config } from '../../src/platform/config.ts';
import { openDocumentStore, openStateStore } from '../../src/server/openStorage.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import type { Client } from './client.ts';
import { eventually } from './eventually.ts';
import { bundle, fhirEncounter, fhirPatient, freshId, referTo, sendFhir } from './fhir.ts';
import { phi } from './output.ts';
import type { TestService } from './service.ts';

/** The stores in which a service keeps messages, to be closed by `closeMessageStores`. */
export async function openMessageStores({ stateUrl, documentsUrl }: Config): Promise<MessagePorts> {
  return { stateStore: await openStateStore(stateUrl), documentStore: await openDocumentStore(documentsUrl) };
}

export async function closeMessageStores({ stateStore, documentStore }: MessagePorts): Promise<void> {
  await Promise.all([stateStore.close(), documentStore.close()]);
}

/** The id of the newest message of a workspace that was not fully accepted, and waits. */
export async function waitingMessage(
  { config }: Pick<TestService, 'config'>,
  workspace: string,
): Promise<string> {
  const stores = await openMessageStores(config);
  try {
    const { items } = await new MessageStore(stores).list(workspace, {
      limit: 1,
      rejected: true,
      pageToken: undefined,
    });
    return items[0]?.id ?? '';
  } finally {
    await closeMessageStores(stores);
  }
}

/** Sends messages as EMRs do, one of which is refused, and gives the ids of those that were taken: a Bundle of FHIR, and an ADT of HL7 v2. */
export async function sendMessages(client: Client): Promise<string[]> {
  const patient = fhirPatient();
  await sendFhir(client, '/fhir', bundle('transaction', patient, fhirEncounter(referTo(patient))));
  await sendFhir(client, '/fhir/Patient', fhirPatient({ birthDate: 'soon' }));
  const id = freshId('hl7-patient');
  const segments = [
    'MSH|^~\\&|ADT1|ELMST|CHARTLEDGER|BILLING|20260314093015-0500||ADT^A28^ADT_A05|MSG00001|P|2.5.1',
    'EVN|A28|20260314093015-0500',
    `PID|1||${id}^^^ELMST^MR||${phi('Lopez')}^Maria||19840229|F|||12 Elm Street^Apt 3^Omaha^NE^68102^USA^H`,
    'PV1|1|N',
  ];
  const headers = { 'content-type': 'application/hl7-v2' };
  await client.send('/hl7/v2', { method: 'POST', headers, body: segments.join('\r') });
  return Promise.all([patient.id, id].map((one) => messageOf(client, String(one))));
}

/** The message that the first version of a patient comes from. */
async function messageOf(client: Client, id: string): Promise<string> {
  const { body } = await client.get(`/integration/patients/${id}/history`);
  return body.items.at(-1).source.message;
}

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
  readonly #waiting: (() => void)[] = [];

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding('latin1');
    socket.on('error', () => undefined);
    const wake = () => {
      for (const resolve of this.#waiting.splice(0)) resolve();
    };
    socket.on('data', (text) => {
      this.#received += text;
      wake();
    });
    socket.on('close', wake);
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
    let end = this.#received.indexOf(END);
    for (; end <= 0; end = this.#received.indexOf(END)) {
      if (this.socket.closed) throw new Error('the connection is closed');
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    const text = this.#received.slice(VT.length, end);
    this.#received = this.#received.slice(end + END.length);
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

/** Configures two sources of a workspace: `epic`, which sends FHIR with a key, and `lab`, which sends HL7 v2. */
export async function configureSources(eventLog: EventLog, workspace: string, key: string): Promise<void> {
  const directory = await KeyDirectory.open(eventLog);
  const caller = { workspace, principal: { type: 'operator', id: 'setup' }, requestId: uuidv7() } as const;
  await configureSource({ eventLog, directory }, caller, {
    ...{ id: 'epic', format: 'fhir', key, time_zone: 'America/Chicago' },
    id_systems: { Coverage: 'urn:oid:2.16.840.1.113883.19.6' },
  });
  await configureSource({ eventLog, directory }, caller, {
    ...{ id: 'lab', format: 'hl7v2', time_zone: 'America/Denver', retention_days: 30 },
    ...{ patient_authority: 'ELMST', facility: { id: 'facility-3001', name: 'Elm Street Clinic' } },
  });
  directory.close();
}
