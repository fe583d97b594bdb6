import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Chartledger } from '../chartledger.ts';
import { Answers } from './answers.ts';
import type { Load } from './measuringProcess.ts';
import { firstTurn } from './requests.ts';

const PATIENTS = 10_000;
const PROVIDERS = 50;
const ACCEPTED = Buffer.from('MSA|AA|');
const VT = 0x0b;
const FS = 0x1c;
const CR = 0x0d;

let turn = 2 * firstTurn();

/**
 * Yields messages that none before equals: a registration (A04), which creates a visit and updates its patient, then an
 * update of that patient (A08), which changes nothing else. Messages of a patient keep their order by being sent over one connection.
 */
export function* messagesOfVisits(): Generator<Buffer, never> {
  for (;;) {
    turn += 2;
    const visit = turn;
    yield messageOf('A04', visit, visit);
    yield messageOf('A08', visit, visit + 1);
  }
}

function messageOf(event: 'A04' | 'A08', visit: number, id: number): Buffer {
  const patient = (visit / 2) % PATIENTS;
  const provider = patient % PROVIDERS;
  const segments = [
    `MSH|^~\\&|ADT1|ELMST|CHARTLEDGER|BILLING|20260314093015-0500||ADT^${event}^ADT_A01|M${id}|P|2.5.1`,
    `EVN|${event}|20260314093015-0500`,
    `PID|1||patient-${patient}^^^ELMST^MR||Lopez^Maria^^^^^L||19840229|F|||12 Elm Street^Apt 3^Omaha^NE^68102^USA^H||^PRN^PH^^1^402^${String(id % 10_000_000).padStart(7, '0')}`,
    `PV1|1|O|CLINIC^101^A^MAIN||||prov-${provider}^Adams^Grace^^^^^^NPI||||||||||||V${visit}|||||||||||||||||||||||||20260314093000-0500`,
    'IN1|1|PPO|payer-7|Aetna|PO Box 981106^^El Paso^TX^79998||^WPN^PH^^1^800^6240756|GRP-77||||20260101|20261231|||Lopez^Maria|SEL|19840229|12 Elm Street^Apt 3^Omaha^NE^68102^USA|||1||||||||||||||W123456789',
  ];
  return Buffer.from(segments.map((segment) => `${segment}\r`).join(''));
}

/** Sends a message, and resolves with what answers it. */
type Send = (message: Buffer) => Promise<Buffer>;

/**
 * Sends messages over MLLP for as many seconds, on each connection the next when the one before is acknowledged.
 * Rejects where one is not accepted.
 */
export async function sendOverMllp(port: number, connections: number, seconds: number): Promise<Load> {
  const sockets = await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      await once(socket, 'connect');
      return socket;
    }),
  );
  try {
    return await sendFor(sockets.map(senderOf), seconds);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

/** Connects, and resolves with what sends the next message over MLLP. Rejects where one is not accepted. */
export async function sendEachOverMllp(port: number): Promise<() => Promise<void>> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  const send = senderOf(socket);
  const messages = messagesOfVisits();
  return async () => {
    const acknowledgement = await send(messages.next().value);
    if (!acknowledgement.includes(ACCEPTED)) throw new Error(`a message: ${acknowledgement}`);
  };
}

function senderOf(socket: Socket): Send {
  let got = Buffer.alloc(0);
  let answered = Promise.withResolvers<Buffer>();
  socket.on('error', (error) => answered.reject(error));
  socket.on('close', () => answered.reject(new Error('the connection was closed')));
  socket.on('data', (chunk) => {
    got = Buffer.concat([got, chunk]);
    if (got.at(-2) === FS && got.at(-1) === CR) answered.resolve(got);
  });
  return async (message) => {
    got = Buffer.alloc(0);
    answered = Promise.withResolvers();
    socket.write(Buffer.concat([Buffer.of(VT), message, Buffer.of(FS, CR)]));
    return answered.promise;
  };
}

/** Sends messages to `POST /hl7/v2`, one a request, in the same way. */
export async function sendOverHttp(
  { url, stores }: Chartledger,
  connections: number,
  seconds: number,
): Promise<Load> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const headers = { 'x-api-key': stores.key.key, 'content-type': 'x-application/hl7-v2+er7' };
  const send: Send = async (message) => {
    const outgoing = request(`${url}/hl7/v2`, { method: 'POST', headers, agent });
    outgoing.end(message);
    const [answer] = await once(outgoing, 'response');
    return Buffer.concat(await answer.toArray());
  };
  try {
    return await sendFor(
      Array.from({ length: connections }, () => send),
      seconds,
    );
  } finally {
    agent.destroy();
  }
}

async function sendFor(senders: readonly Send[], seconds: number): Promise<Load> {
  const answers = new Answers();
  const until = performance.now() + seconds * 1_000;
  await Promise.all(
    senders.map(async (send) => {
      let now = performance.now();
      for (const message of messagesOfVisits()) {
        if (now >= until) return;
        const acknowledgement = await send(message);
        if (!acknowledgement.includes(ACCEPTED)) throw new Error(`a message: ${acknowledgement}`);
        const then = performance.now();
        answers.add(then - now);
        now = then;
      }
    }),
  );
  return answers.close();
}
