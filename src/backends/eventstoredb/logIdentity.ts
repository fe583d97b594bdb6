import { v4 as uuidv4 } from 'uuid';
import { unavailable } from '../../errors.ts';
import { attempt } from './attempt.ts';
import type { Connection } from './connections.ts';
import type { DriverClient } from './DriverClient.ts';
import { WrongStreamEnd } from './drivers/Driver.ts';
import { toRecordedEvent } from './recordedEvent.ts';

/** Its first event's id is the identity of the log. The event has no workspace, so it is nobody's; nor has the name a dot. */
const IDENTITY_STREAM = 'chartledger-log';

/** The identity of the log, made when it has none. Of several processes that make it at once one wins, and all get its. */
export async function logIdentity({ appending, reader }: Connection): Promise<string> {
  const read = async () => (await reader.readStream(IDENTITY_STREAM, { limit: 1 }, toRecordedEvent))[0]?.id;
  const found = await read();
  if (found) return found;
  await makeOnce(appending, uuidv4());
  const made = await read();
  if (made === undefined) throw unavailable('event log');
  return made;
}

/**
 * Resolves when the server takes appends: it answers for one of the event that makes the identity, which is there, as for
 * any other, and writes nothing. Rejects with `unavailable`.
 */
export async function proveAppends(connection: Connection): Promise<void> {
  await makeOnce(connection.appending, await logIdentity(connection));
}

async function makeOnce(client: DriverClient, id: string): Promise<void> {
  const event = { id, type: 'EventLogCreated', data: {} };
  await attempt((waiting) =>
    client.call(waiting, async (driver) => {
      try {
        await driver.append(IDENTITY_STREAM, event, 'no_stream');
      } catch (error) {
        if (!(error instanceof WrongStreamEnd)) throw error;
      }
    }),
  );
}
