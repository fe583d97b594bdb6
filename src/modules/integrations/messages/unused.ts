import { z } from 'zod';
import type { StateStore, StateTable } from '../../../storage/stateStore.ts';

/** How often messages of an event arrived, and when the last one did. */
const countSchema = z.object({ count: z.int(), last_at: z.string() });

const unusedShape = z.object({
  /** By source, then by event. */
  sources: z.record(z.string(), z.record(z.string(), countSchema)),
});

/**
 * The numbers of messages that were acknowledged and not used, by workspace: nothing else is kept of them. If it is
 * lost, they are counted from zero.
 */
export const unusedMessagesTable: StateTable<z.infer<typeof unusedShape>> = {
  name: 'unused_messages_v1',
  body: unusedShape,
};

/** Events counted separately for each source; the others are counted together. */
const MOST_EVENTS = 100;
const OTHERS = 'others';

/** The messages of an event that were acknowledged and not used. */
export interface UnusedEvent extends z.infer<typeof countSchema> {
  /** `ORU^R01`; `others` for what has no such name. */
  event: string;
}

/** Counts messages that are acknowledged and not used. */
export class UnusedMessages {
  readonly #stateStore: StateStore;

  constructor(stateStore: StateStore) {
    this.#stateStore = stateStore;
  }

  /** Counts one more message of a source; durable when it resolves. Rejects with `unavailable`. */
  async add(
    workspace: string,
    source: string,
    { type, event }: { type: string; event: string },
  ): Promise<void> {
    const text = event === '' ? type : `${type}^${event}`;
    const isName = /^[A-Z][A-Z0-9]{2}(?:\^[A-Z][A-Z0-9]{2})?$/.test(text);
    for (;;) {
      const [row] = await this.#stateStore.load(unusedMessagesTable, [workspace]);
      const sources = { ...row?.body.sources };
      const counts = { ...sources[source] };
      const isRoom = Object.hasOwn(counts, text) || Object.keys(counts).length < MOST_EVENTS;
      const name = isName && isRoom ? text : OTHERS;
      counts[name] = { count: (counts[name]?.count ?? 0) + 1, last_at: new Date().toISOString() };
      sources[source] = counts;
      const revision = (row?.revision ?? 0) + 1;
      const next = { id: workspace, partition: workspace, order: 1, revision, body: { sources } };
      if (await this.#stateStore.swap(unusedMessagesTable, next, row?.revision)) return;
    }
  }

  /** Resolves with the events of each source of a workspace, most frequent first. Rejects with `unavailable`. */
  async of(workspace: string): Promise<Map<string, UnusedEvent[]>> {
    const [row] = await this.#stateStore.load(unusedMessagesTable, [workspace]);
    const sources = Object.entries(row?.body.sources ?? {});
    return new Map(
      sources.map(([source, counts]) => [
        source,
        Object.entries(counts)
          .map(([event, one]) => ({ event, ...one }))
          .toSorted((one, other) => other.count - one.count),
      ]),
    );
  }
}
