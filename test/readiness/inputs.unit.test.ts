import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject, RecordedEvent } from '../../src/domain/events/event.ts';
import { newEvent } from '../../src/domain/events/newEvent.ts';
import { recordStream } from '../../src/domain/events/streams.ts';
import { catalogEntry } from '../../src/domain/records/catalog.ts';
import { appendTombstones } from '../../src/modules/erasure/tombstones.ts';
import { RecordInputs } from '../../src/modules/readiness/inputs.ts';
import { openEventLog } from '../../src/server/openStorage.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import { temporaryFolder } from '../support/cli.ts';

let log: EventLog;
let ids = 0;
beforeAll(async () => {
  log = await openEventLog(`sqlite:${join(temporaryFolder(), 'events.db')}`);
});
afterAll(() => log.close());

/** What was followed is not read. */
const unreadable = {
  readStream: () => Promise.reject(new Error('read')),
} as unknown as EventLog;

const caller = () =>
  ({
    workspace: 'clinic',
    principal: { type: 'operator', id: 'test' },
    requestId: crypto.randomUUID(),
  }) as const;

/**
 * Sends a record in these versions; resolves, for each but the first, with whether it changes what rules read: according to the log, and
 * the same according to what was followed.
 */
async function changesOf(kind: string, ...versions: JsonObject[]): Promise<boolean[]> {
  const stream = newStream(kind);
  const followed = new RecordInputs(unreadable);
  const changes: boolean[] = [];
  for (const [index, data] of versions.entries()) {
    await send(stream, kind, data);
    const sent = await log.readStream(stream, { from: index, limit: 1 });
    if (index === 0) followed.follow(sent[0] as RecordedEvent);
    else {
      const changed = await new RecordInputs(log).changed(sent);
      expect(await followed.changed(sent)).toBe(changed);
      changes.push(changed);
    }
  }
  return changes;
}

function newStream(kind: string): string {
  ids += 1;
  return recordStream('clinic', kind, `r-${ids}`);
}

async function send(stream: string, kind: string, data: JsonObject): Promise<void> {
  await log.append(stream, newEvent(caller(), catalogEntry(kind).eventType, data), 'any');
}

const payer = { id: 'y', name: 'Aetna', payer_code: '60054', website: 'https://aetna.example' };

test('an identical version, and one with other contact details, change nothing that rules read', async () => {
  const moved = { ...payer, website: 'https://other.example' };
  expect(await changesOf('payer', payer, payer, moved, { website: null })).toEqual([false, false, false]);
});

test('another value of what rules read is a change', async () => {
  const other = { ...payer, payer_code: '60055' };
  expect(await changesOf('payer', payer, other, payer)).toEqual([true, true]);
});

test('so are several versions of which one has another value, though the last one takes it back', async () => {
  const stream = newStream('payer');
  for (const code of ['60054', '60055', '60054']) await send(stream, 'payer', { ...payer, payer_code: code });
  expect(await new RecordInputs(log).changed(await log.readStream(stream, { from: 1, limit: 2 }))).toBe(true);
});

test('a field that is sent for the first time, or is cleared, is a change', async () => {
  const role = { role: 'attending_physician' };
  expect(await changesOf('provider', { npi: '1' }, role, { npi: null })).toEqual([true, true]);
});

test('each field is compared with the version that sent it last; an insurance as a whole', async () => {
  const insured = (more: JsonObject) => ({ primary_insurance: { payer_id: 'y', ...more } });
  const changes = await changesOf(
    'patient',
    { city: 'Omaha', ...insured({ policy_number: 'W1' }) },
    { phone: '+1 402 555 0107' },
    { city: 'Omaha' },
    insured({ policy_number: 'W1' }),
    insured({}),
    { merged_into: 'q' },
  );
  expect(changes).toEqual([false, false, false, true, true]);
});

test('what was sent longer ago than is looked back counts as a change, unless it was followed', async () => {
  const stream = newStream('payer');
  const followed = new RecordInputs(unreadable);
  const code = { payer_code: payer.payer_code };
  await send(stream, 'payer', payer);
  for (let n = 0; n < 20; n += 1) await send(stream, 'payer', { contact_phone: `+1 402 555 01${10 + n}` });
  await send(stream, 'payer', code);
  const [first, ...later] = await log.readStream(stream, { limit: 30 });
  followed.follow(first as RecordedEvent);
  expect(await new RecordInputs(log).changed(later.slice(-1))).toBe(true);
  expect(await followed.changed(later.slice(0, -1))).toBe(false);
  expect(await followed.changed(later.slice(-1))).toBe(false);
});

test('nothing is kept of a record that was erased', async () => {
  const stream = newStream('payer');
  const followed = new RecordInputs(log);
  await send(stream, 'payer', payer);
  const [first] = await log.readStream(stream, { limit: 1 });
  followed.follow(first as RecordedEvent);
  const erasure = { kind: 'payer', record_id: 'y', reason: 'Asked' };
  followed.follow(await appendTombstones(log, caller(), stream, 'Payer', erasure));
  await send(stream, 'payer', payer);
  expect(await followed.changed(await log.readStream(stream, { from: 2, limit: 1 }))).toBe(true);
});

test('an erasure is a change, and so is what comes after it', async () => {
  const stream = newStream('payer');
  await send(stream, 'payer', payer);
  const erasure = { kind: 'payer', record_id: 'y', reason: 'Asked' };
  const tombstone = await appendTombstones(log, caller(), stream, 'Payer', erasure);
  expect(await new RecordInputs(log).changed([tombstone])).toBe(true);
  await send(stream, 'payer', payer);
  expect(await new RecordInputs(log).changed(await log.readStream(stream, { from: 2, limit: 1 }))).toBe(true);
});

test('a version that this service cannot read counts as a change', async () => {
  const stream = newStream('payer');
  await send(stream, 'payer', payer);
  const event = newEvent(caller(), 'PayerUpserted', payer);
  const place = await log.append(stream, event, 'any');
  const metadata = { ...event.metadata, schemaVersion: 99 };
  const later = { ...event, ...place, metadata, stream, recordedAt: new Date(0).toISOString() };
  expect(await new RecordInputs(log).changed([later as RecordedEvent])).toBe(true);
});
