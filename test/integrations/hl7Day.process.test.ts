import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { evolveRecord, type RecordState } from '../../src/domain/records/fold.ts';
import { openEventLog } from '../../src/server/openStorage.ts';
import { RawSender } from '../support/messages.ts';
import { ServiceProcess } from '../support/processes.ts';
import { freePort } from '../support/servers.ts';
import { readAll } from '../support/service.ts';

import { type DayMessage, Hospital } from './hl7Chapter3.ts';

/** A whole hospital's day is `TEST_HL7_DAY=100000 TEST_HL7_KILLS=30`. */
const MESSAGES = Number(process.env.TEST_HL7_DAY ?? 1_500);
const KILLS = Number(process.env.TEST_HL7_KILLS ?? 3);
const PATIENCE_MS = 300_000 + 100 * MESSAGES;

let folder: string;
let service: ServiceProcess | undefined;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'chartledger-day-'));
});
afterAll(async () => {
  await service?.end('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

test(`a hospital's day of ${MESSAGES} messages, in and out of order, with repeats and merges, leads to the records of the model, the service killed ${KILLS} times`, {
  timeout: PATIENCE_MS,
}, async () => {
  const hospital = new Hospital();
  const messages = hospital.day(MESSAGES);
  const port = await freePort();
  const env = { DATA_DIR: folder, ROLES: 'api,projector,mllp', MLLP_PORT: String(port) };
  service = new ServiceProcess(env);
  let isUp: Promise<unknown> = service.url();
  let sender: RawSender | undefined;
  const acknowledged = async (message: DayMessage): Promise<string[]> => {
    for (;;) {
      await isUp;
      try {
        sender ??= await RawSender.connect(port);
        return await sender.send(message.text);
      } catch {
        // It was not taken: an engine sends it again.
        sender = undefined;
      }
    }
  };
  const every = Math.floor(MESSAGES / (KILLS + 1));
  for (const [place, message] of messages.entries()) {
    const sent = acknowledged(message);
    if (place % every === every - 1 && place < every * KILLS) {
      const { promise, resolve } = Promise.withResolvers<void>();
      isUp = promise;
      await service.end('SIGKILL');
      service = new ServiceProcess(env);
      await service.url();
      resolve();
    }
    const [, code, control] = await sent;
    expect([place, message.text, code]).toEqual([place, message.text, message.code]);
    expect(message.text).toContain(`|${control}|`);
    if (place % 5_000 === 4_999) process.stderr.write(`${place + 1} of ${MESSAGES} messages\n`);
  }
  await sender?.end();
  expect((await service.end()).code).toBe(0);

  const eventLog = await openEventLog(`sqlite:${join(folder, 'events.db')}`);
  const states = new Map<string, RecordState>();
  for (const event of await readAll(eventLog)) {
    const [, kind, id] = /\.(patient|encounter)-(.+)$/.exec(event.stream) ?? [];
    if (kind && id) states.set(`${kind} ${id}`, evolveRecord(kind, states.get(`${kind} ${id}`), event));
  }
  await eventLog.close();
  const kinds = ['patient', 'encounter'].map(
    (kind) => [...states.keys()].filter((key) => key.startsWith(kind)).length,
  );
  expect(kinds).toEqual([hospital.patients.size, hospital.visits.size]);
  for (const [id, { last_name, merged_into }] of hospital.patients) {
    const { fields } = states.get(`patient ${id}`) as RecordState;
    const found = { last_name: fields.last_name, merged_into: fields.merged_into ?? undefined };
    expect([id, found]).toEqual([id, { last_name, merged_into }]);
  }
  for (const [id, { isVoid = false, ...visit }] of hospital.visits) {
    const { fields } = states.get(`encounter ${id}`) as RecordState;
    const { patient_id, status, is_completed, visit_type, facility_id, date_of_service, voided_at } = fields;
    const found = { patient_id, status, is_completed, visit_type, facility_id, date_of_service };
    expect([id, { ...found, isVoid: voided_at != null }]).toEqual([id, { ...visit, isVoid }]);
  }
});
