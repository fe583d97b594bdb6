import { expect } from 'vitest';
import type { ErasedEvent } from '../../src/domain/events/event.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';

import { eventually } from './eventually.ts';
import { foreignClient } from './logDriver.ts';

/** Has the server at a URL scavenge, and waits until it no longer delivers what was erased. */
export function scavenged(url: string) {
  return async (log: EventLog, erased: ErasedEvent[]): Promise<void> => {
    const { scavenger } = log;
    if (scavenger === undefined) throw new Error('a server scavenges');
    const mark = await scavenger.mark();
    for (const node of await scavenger.nodes()) {
      let scavenge = await scavenger.start(node);
      await eventually(async () => {
        const outcome = await scavenger.outcome(scavenge, mark);
        if (outcome === 'not_covered') scavenge = await scavenger.start(node);
        expect(outcome).toBe('covered');
      });
    }
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
