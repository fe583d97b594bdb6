import { setTimeout as sleep } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import type { NewEvent } from '../../../src/domain/events/event.ts';
import { newEvent } from '../../../src/domain/events/newEvent.ts';
import { recordStream } from '../../../src/domain/events/streams.ts';
import { catalogEntry, type RecordKind } from '../../../src/domain/records/catalog.ts';
import { ServiceError } from '../../../src/platform/errors.ts';
import { openEventLog } from '../../../src/server/openStorage.ts';

import type { Bench } from '../scenario.ts';
import type { Stores } from './chartledger.ts';
import { bodyOf, turnText } from './load/bodies.ts';

const IN_FLIGHT = 1_000;
const RETRY_MS = 1_000;
/** Steps through all records in no particular order: it divides no number of records used here. */
const STRIDE = 7_368_787;
const TELL_EVERY = 500_000;

/** The same patients in each turn, with a different text in one field. */
const patientOf = (index: number, turn: number) => bodyOf('patients', index, turnText(turn));

/**
 * Appends upserts of patients, or of another kind, to the log of stores on which no service is running, through the
 * port and as the service would: first every record once, then updates spread over all; `textOf` returns the JSON of
 * a record in a turn. Resolves with the bytes of JSON that callers would have sent.
 */
export async function growLog(
  bench: Bench,
  stores: Stores,
  { kind = 'patient', ...size }: { kind?: RecordKind; records: number; events: number },
  textOf: (index: number, turn: number) => string = patientOf,
): Promise<number> {
  const { workspace, id } = stores.key;
  const { eventType } = catalogEntry(kind);
  const eventLog = await openEventLog(stores.config.eventLogUrl);
  let sentBytes = 0;
  let next = 0;
  const append = async (stream: string, event: NewEvent) => {
    try {
      await eventLog.append(stream, event, 'any');
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'unavailable')) throw error;
      // The disk of a shared machine may be busy for seconds; an event that already exists is not added again.
      await sleep(RETRY_MS);
      await append(stream, event);
    }
  };
  const appendOne = async () => {
    const turn = next++;
    if (turn % TELL_EVERY === TELL_EVERY - 1) bench.progress(`${turn + 1} events appended`);
    const index = turn < size.records ? turn : (turn * STRIDE) % size.records;
    const body = textOf(index, turn);
    sentBytes += Buffer.byteLength(body);
    const caller = {
      workspace,
      principal: { type: 'api_key' as const, id },
      requestId: uuidv7(),
      clientIp: '127.0.0.1',
    };
    const stream = recordStream(workspace, kind, `${kind}-${index}`);
    await append(stream, newEvent(caller, eventType, JSON.parse(body)));
  };
  const chain = async () => {
    while (next < size.events) await appendOne();
  };
  try {
    await Promise.all(Array.from({ length: IN_FLIGHT }, chain));
  } finally {
    next = size.events;
    await eventLog.close();
  }
  return sentBytes;
}
