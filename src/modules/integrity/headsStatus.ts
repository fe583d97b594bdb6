import { z } from 'zod';
import type { StateStore, StateTable } from '../../storage/stateStore.ts';

/** The result of the last try of the role `heads`. */
export interface HeadsStatus {
  /** Where heads are sent, for display. */
  place: string;
  /** ISO 8601, UTC. */
  tried_at: string;
  /** Why it failed; null: it succeeded. */
  problem: string | null;
  /** `PublicKeys.text()` of the signing key, for processes that do not have it. Null while the key could not be opened. */
  public_key: string | null;
}

/** A single row, written by the one process that sends. If it is lost, the next try writes it again. */
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

/** Returns the result of the last try; undefined when there was none. Rejects with `unavailable`. */
export async function headsStatus(stateStore: StateStore): Promise<HeadsStatus | undefined> {
  const [row] = await stateStore.load(table, [ID]);
  return row?.body;
}

/** Makes the result of a try visible to all processes. Rejects with `unavailable`. */
export async function tellHeadsStatus(stateStore: StateStore, body: HeadsStatus): Promise<void> {
  const [row] = await stateStore.load(table, [ID]);
  const revision = (row?.revision ?? 0) + 1;
  await stateStore.save(table, [{ id: ID, partition: ID, order: 0, revision, body }]);
}
