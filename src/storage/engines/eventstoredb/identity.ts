import { v4 as uuidv4 } from 'uuid';
import { isEarlierFormat, STORE_FORMAT } from '../../storeFormat.ts';
import type { DriverClient } from './client.ts';
import type { Connection } from './connection.ts';
import { attempt, WrongStreamEnd } from './drivers/driver.ts';
import { toRecordedEvent } from './read.ts';

/**
 * Its first event's id is the identity of the log. The event has no workspace, so it belongs to nobody; nor does the name have a
 * dot.
 */
export const IDENTITY_STREAM = 'chartledger-log';

/** Its last event says of which format the log is; nobody's either. */
export const FORMAT_STREAM = 'chartledger-format';

/**
 * Returns the identity of the log, creating it when there is none. Of several processes that create it at once one wins, and all
 * use its identity.
 */
export async function logIdentity({ appending, reader }: Connection): Promise<string> {
  const read = async () => (await reader.readStream(IDENTITY_STREAM, { limit: 1 }, toRecordedEvent))[0]?.id;
  const found = await read();
  if (found) return found;
  await makeOnce(appending, uuidv4());
  return attempt(appending, async () => {
    const made = await read();
    if (made === undefined) throw new Error('the server does not show the identity of the log yet');
    return made;
  });
}

/**
 * Marks the log as one that this program writes. Rejects, before anything is written, as `isEarlierFormat` throws, and with
 * `unavailable`.
 */
export async function raiseFormat({ appending, reader }: Connection, place: string): Promise<void> {
  const last = { direction: 'backwards', limit: 1 } as const;
  const event = { id: uuidv4(), type: 'StoreFormatRaised', data: { format: STORE_FORMAT } };
  await attempt(appending, async (waiting) => {
    const [found] = await reader.readStream(FORMAT_STREAM, last, toRecordedEvent);
    if (!isEarlierFormat(place, Number(found?.data.format ?? 0))) return;
    const end = found ? BigInt(found.revision) : 'no_stream';
    await appending.call(waiting, (driver) => driver.append(FORMAT_STREAM, event, end));
  });
}

export async function makeOnce(client: DriverClient, id: string): Promise<void> {
  const event = { id, type: 'EventLogCreated', data: {} };
  await attempt(client, (waiting) =>
    client.call(waiting, async (driver) => {
      try {
        await driver.append(IDENTITY_STREAM, event, 'no_stream');
      } catch (error) {
        if (!(error instanceof WrongStreamEnd)) throw error;
      }
    }),
  );
}
