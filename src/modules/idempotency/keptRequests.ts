import { z } from 'zod';
import type { StateRow, StateTable } from '../../storage/stateStore.ts';
import type { Held } from './HeldRow.ts';

/** What is stored of a request with an idempotency key: nothing of its contents. */
export interface KeptRequest extends Held {
  /** Id of the event that it appends, in whichever try. */
  eventId: string;
  /** Digest of its payload, once known. */
  payload?: string | undefined;
  /** Its result, sealed, once it succeeded. */
  result?: string | undefined;
}

/** A row's revision is the time of the request in microseconds, plus one for each change. */
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

/** Returns a row that is first written at that time. */
export function newRow(id: string, now: number, body: KeptRequest): KeptRow {
  return { id, partition: id, order: 0, revision: now * 1000, body };
}
