import { v7 as uuidv7 } from 'uuid';
import { newEvent } from '../../../src/domain/events/newEvent.ts';
import { recordStream } from '../../../src/domain/events/streams.ts';
import { catalogEntry } from '../../../src/domain/records/catalog.ts';
import { openEventLog } from '../../../src/server/openStorage.ts';

import type { Stores } from './chartledger.ts';
import { bodyOf } from './load/bodies.ts';

const IN_FLIGHT = 500;

/**
 * Appends `versions` versions of a patient of 1 KB to the log of stores on which no service is running, each with a
 * different phone number, as the service would.
 */
export async function growRecord({ key, config }: Stores, id: string, versions: number): Promise<void> {
  const { workspace, id: keyId } = key;
  const { eventType } = catalogEntry('patient');
  const eventLog = await openEventLog(config.eventLogUrl);
  const stream = recordStream(workspace, 'patient', id);
  let next = 0;
  const chain = async () => {
    while (next < versions) {
      const phone = `+1 402 ${next++}`;
      const caller = {
        workspace,
        principal: { type: 'api_key' as const, id: keyId },
        requestId: uuidv7(),
        clientIp: '127.0.0.1',
      };
      const data = { ...JSON.parse(bodyOf('patients', 0)), id, phone };
      await eventLog.append(stream, newEvent(caller, eventType, data), 'any');
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, chain));
  await eventLog.close();
}
