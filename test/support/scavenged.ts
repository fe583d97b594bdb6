import type { ErasedEvent } from '../../src/events/event.ts';
import type { EventLog } from '../../src/ports/eventLog.ts';
import { eventually } from './eventually.ts';
import { foreignClient } from './logDriver.ts';

/** Has the server at a URL scavenge, and waits until it no longer delivers what was erased. */
export function scavenged(url: string) {
  return async (log: EventLog, erased: ErasedEvent[]): Promise<void> => {
    if (await log.purge()) throw new Error('a server scavenges by itself');
    const { client } = await foreignClient(url);
    await eventually(async () => {
      for (const { position } of erased) {
        const fromPosition = { commit: BigInt(position), prepare: BigInt(position) };
        let first: number | undefined;
        for await (const { event } of client.readAll({ fromPosition, maxCount: 1 }))
          first = Number(event?.position?.commit);
        if (first === position) throw new Error(`${position} is still there`);
      }
    });
    await client.dispose();
  };
}
