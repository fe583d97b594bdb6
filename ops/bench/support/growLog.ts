import { v7 as uuidv7 } from 'uuid';
import { openEventLog } from '../../../src/app/openBackend.ts';
import { newEvent } from '../../../src/events/newEvent.ts';
import { recordStream } from '../../../src/events/streamNames.ts';
import { catalogEntry } from '../../../src/records/catalog.ts';
import type { Bench } from '../scenario.ts';
import type { Stores } from './chartledger.ts';
import { bodyOf, turnText } from './load/bodies.ts';

const IN_FLIGHT = 1_000;
/** Steps through all records in no order: it divides no number of records used here. */
const STRIDE = 7_368_787;
const TELL_EVERY = 500_000;

/**
 * Appends upserts of patients to the log of stores that no service runs on, through the port and as the service would:
 * first every record once, then updates all over, each with another text in one field. Resolves with the bytes of JSON that callers would have sent.
 */
export async function growLog(
  bench: Bench,
  stores: Stores,
  size: { records: number; events: number },
): Promise<number> {
  const { workspace, id } = stores.key;
  const { eventType } = catalogEntry('patient');
  const eventLog = await openEventLog(stores.config.eventLogUrl);
  let sentBytes = 0;
  let next = 0;
  const appendOne = async () => {
    const turn = next++;
    if (turn % TELL_EVERY === TELL_EVERY - 1) bench.progress(`${turn + 1} events appended`);
    const index = turn < size.records ? turn : (turn * STRIDE) % size.records;
    const body = bodyOf('patients', index, turnText(turn));
    sentBytes += Buffer.byteLength(body);
    const caller = {
      workspace,
      principal: { type: 'api_key' as const, id },
      requestId: uuidv7(),
      clientIp: '127.0.0.1',
    };
    const stream = recordStream(workspace, 'patient', `patient-${index}`);
    await eventLog.append(stream, newEvent(caller, eventType, JSON.parse(body)), 'any');
  };
  const chain = async () => {
    while (next < size.events) await appendOne();
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, chain));
  await eventLog.close();
  return sentBytes;
}
