import { z } from 'zod';
import type { StateStore, StateTable } from '../../storage/stateStore.ts';

const preferencesShape = z.object({
  /** The workspace viewed last. */
  workspace: z.string().optional(),
  /** Workspaces whose first steps the user no longer wants to see. */
  dismissed: z.array(z.string()),
});
type Preferences = z.infer<typeof preferencesShape>;

/** What the dashboard remembers of a user from one session to the next, by the user's id. If lost, it begins again. */
const preferencesTable: StateTable<Preferences> = { name: 'preferences_v1', body: preferencesShape };

const none: Preferences = { dismissed: [] };

/** Resolves with what is remembered of a user. Rejects with `unavailable`. */
export async function readPreferences(stateStore: StateStore, userId: string): Promise<Preferences> {
  const [row] = await stateStore.load(preferencesTable, [userId]);
  return row?.body ?? none;
}

/** Remembers the workspace that a user views. Rejects with `unavailable`. */
export async function rememberWorkspace(
  stateStore: StateStore,
  userId: string,
  workspace: string,
): Promise<void> {
  await change(stateStore, userId, (known) => ({ ...known, workspace }));
}

/** Remembers that a user no longer wants to see the first steps of a workspace. Rejects with `unavailable`. */
export async function dismissFirstSteps(
  stateStore: StateStore,
  userId: string,
  workspace: string,
): Promise<void> {
  await change(stateStore, userId, ({ dismissed, ...known }) => ({
    ...known,
    dismissed: [...new Set([...dismissed, workspace])],
  }));
}

async function change(
  stateStore: StateStore,
  userId: string,
  changed: (known: Preferences) => Preferences,
): Promise<void> {
  for (;;) {
    const [row] = await stateStore.load(preferencesTable, [userId]);
    const body = changed(row?.body ?? none);
    const revision = (row?.revision ?? 0) + 1;
    const swap = { id: userId, partition: userId, order: 0, revision, body };
    if (await stateStore.write([{ table: preferencesTable, swap, expected: row?.revision }])) return;
  }
}
