import { z } from 'zod';
import type { StateRow, StateTable } from '../ports/stateStore.ts';
import type { Held } from './HeldRow.ts';

/** What is kept of a request that bore an idempotency key: nothing of what it said. */
export interface KeptRequest extends Held {
  /** Of the event that it appends, whichever try does. */
  eventId: string;
  /** Digest of its payload, once that is known. */
  payload?: string | undefined;
  /** What it came to, sealed, once it succeeded. */
  result?: string | undefined;
}

/** A row's revision is the time of the request in microseconds, and one more with each change. */
export type KeptRow = StateRow<KeptRequest>;

export const keptRequests: StateTable<KeptRequest> = {
  name: 'idempotency_keys_v1',
  body: z.object({
    eventId: z.string(),
    payload: z.string().optional(),
    heldUntil: z.number(),
    result: z.string().optional(),
  }),
};

/** A row that is first written at that time. */
export function newRow(id: string, now: number, body: KeptRequest): KeptRow {
  return { id, partition: id, order: 0, revision: now * 1000, body };
}
