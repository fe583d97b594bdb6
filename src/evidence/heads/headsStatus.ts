import { z } from 'zod';
import type { StateStore, StateTable } from '../../ports/stateStore.ts';

/** How the role `heads` got on when it last tried. */
export interface HeadsStatus {
  /** Where heads are sent, for people. */
  place: string;
  /** ISO 8601, UTC. */
  tried_at: string;
  /** Why it failed; null: it did not. */
  problem: string | null;
  /** `PublicKeys.text()` of the key that signs, for processes that do not have it. Null while that could not be opened. */
  public_key: string | null;
}

/** One row, of the one process that sends. Where it is lost, the next try writes it anew. */
const table: StateTable<HeadsStatus> = {
  name: 'heads_status_v1',
  body: z.object({
    place: z.string(),
    tried_at: z.string(),
    problem: z.string().nullable(),
    public_key: z.string().nullable(),
  }),
};
const ID = 'heads';

/** How it got on at the last try; undefined when there was none. Rejects with `unavailable`. */
export async function headsStatus(stateStore: StateStore): Promise<HeadsStatus | undefined> {
  const [row] = await stateStore.load(table, [ID]);
  return row?.body;
}

/** Tells all processes how it got on. Rejects with `unavailable`. */
export async function tellHeadsStatus(stateStore: StateStore, body: HeadsStatus): Promise<void> {
  const [row] = await stateStore.load(table, [ID]);
  const revision = (row?.revision ?? 0) + 1;
  await stateStore.save(table, [{ id: ID, partition: ID, order: 0, revision, body }]);
}
