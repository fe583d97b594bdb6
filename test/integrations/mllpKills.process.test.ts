import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Hl7Message } from '@medplum/core';
import { Hl7Client } from '@medplum/hl7';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { openEventLog } from '../../src/server/openStorage.ts';
import { eventually } from '../support/eventually.ts';
import { ServiceProcess } from '../support/processes.ts';
import { freePort } from '../support/servers.ts';
import { readAll } from '../support/service.ts';

import { hl7Message } from './hl7Messages.ts';

/** With 10,000 it takes minutes. */
const MESSAGES = Number(process.env.TEST_MLLP_MESSAGES ?? 600);
const CONNECTIONS = 4;
const KILLS = 3;
/** Of each connection: so every one of them has many messages. */
const PATIENTS = 25;
const ANSWER_MS = 60_000;
/** For all, on a busy machine. */
const PATIENCE_MS = 300_000 + 400 * MESSAGES;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'chartledger-mllp-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The message of a number on a connection: it says its number, so that the order of what was taken can be told. */
function messageOf(connection: number, number: number): string {
  const patient = `p-${connection}-${number % PATIENTS}`;
  const person: [string, Record<number, string>] = [
    'PID',
    { 3: patient, 5: `Lopez^N-${number}`, 7: '19840229' },
  ];
  return hl7Message('ADT^A28', [person], { 10: `${connection}-${number}` });
}

/** A service that is killed now and again. */
interface Killed {
  port: number;
  /** Resolves when it takes connections again. */
  isUp: Promise<unknown>;
  acknowledged: number;
}

/** Sends all messages of a connection in their order, each until it is acknowledged; gives how often one was sent again. */
async function sendAll(service: Killed, connection: number, count: number): Promise<number> {
  let again = 0;
  let client: Hl7Client | undefined;
  for (let number = 0; number < count; ) {
    client ??= new Hl7Client({ host: '127.0.0.1', port: service.port, keepAlive: true });
    const message = Hl7Message.parse(messageOf(connection, number));
    const answer = await answered(client, message).catch(() => undefined);
    if (answer === undefined) {
      await client.close();
      client = undefined;
      again += 1;
      await service.isUp;
      continue;
    }
    expect(answer).toEqual(['AA', `${connection}-${number}`]);
    service.acknowledged += 1;
    number += 1;
  }
  await client?.close();
  return again;
}

/** What a message is acknowledged with; rejects where its connection ends before. */
async function answered(client: Hl7Client, message: Hl7Message): Promise<(string | undefined)[]> {
  const gone = Promise.withResolvers<never>();
  gone.promise.catch(() => undefined);
  const end = () => gone.reject(new Error('the connection is gone'));
  client.addEventListener('close', end);
  client.addEventListener('error', end);
  try {
    const answering = client.sendAndWait(message, { timeoutMs: ANSWER_MS });
    answering.catch(() => undefined);
    const answer = await Promise.race([answering, gone.promise]);
    const segment = answer.getSegment('MSA');
    return [1, 2].map((field) => segment?.getField(field)?.toString());
  } finally {
    client.removeEventListener('close', end);
    client.removeEventListener('error', end);
  }
}

/** The numbers that the events of each patient tell, in the order of the log. */
function numbersByPatient(events: readonly RecordedEvent[]): Map<string, number[]> {
  const told = new Map<string, number[]>();
  for (const { type, data } of events) {
    if (type !== 'PatientUpserted') continue;
    const numbers = told.get(String(data.id)) ?? [];
    numbers.push(Number(String(data.first_name).slice(2)));
    told.set(String(data.id), numbers);
  }
  return told;
}

test(`${MESSAGES} messages over ${CONNECTIONS} connections, the service killed ${KILLS} times: each is there once, in order`, {
  timeout: PATIENCE_MS,
}, async () => {
  const port = await freePort();
  const env = { DATA_DIR: folder, ROLES: 'api,projector,mllp', MLLP_PORT: String(port) };
  let service = new ServiceProcess(env);
  const killed: Killed = { port, isUp: service.url(), acknowledged: 0 };
  await killed.isUp;
  const count = MESSAGES / CONNECTIONS;
  const connections = Array.from({ length: CONNECTIONS }, (_, connection) => connection);
  const sending = Promise.all(connections.map((connection) => sendAll(killed, connection, count)));
  for (let kill = 1; kill <= KILLS; kill += 1) {
    await eventually(
      () => expect(killed.acknowledged).toBeGreaterThan((kill * MESSAGES) / (KILLS + 1)),
      PATIENCE_MS,
    );
    const { promise, resolve } = Promise.withResolvers<void>();
    killed.isUp = promise;
    await service.end('SIGKILL');
    service = new ServiceProcess(env);
    await service.url();
    resolve();
  }
  const again = (await sending).reduce((sum, one) => sum + one, 0);
  expect(again).toBeGreaterThanOrEqual(KILLS);
  expect((await service.end()).code).toBe(0);

  const eventLog = await openEventLog(`sqlite:${join(folder, 'events.db')}`);
  const told = numbersByPatient(await readAll(eventLog));
  await eventLog.close();
  expect(told.size).toBe(CONNECTIONS * PATIENTS);
  for (const [patient, numbers] of told) {
    const first = Number(patient.split('-')[2]);
    const all = Array.from({ length: Math.ceil((count - first) / PATIENTS) }, (_, n) => first + n * PATIENTS);
    expect({ patient, numbers }).toEqual({ patient, numbers: all });
  }
});
