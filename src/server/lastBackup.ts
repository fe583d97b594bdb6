import { z } from 'zod';
import type { StateStore, StateTable } from '../storage/stateStore.ts';

const lastBackupSchema = z.object({ place: z.string(), created_at: z.string() });
type LastBackup = z.infer<typeof lastBackupSchema>;

/** The last backup, in one row. */
const lastBackupTable: StateTable<LastBackup> = { name: 'last_backup_v1', body: lastBackupSchema };
const LAST = 'last';

/** Records a backup that is complete. Rejects with `unavailable`. */
export async function saveLastBackup(
  stateStore: StateStore,
  place: string,
  created_at: string,
): Promise<void> {
  const revision = Date.parse(created_at);
  const row = { id: LAST, partition: LAST, order: 0, revision, body: { place, created_at } };
  await stateStore.save(lastBackupTable, [row]);
}

/** Returns the last complete backup; undefined when there was none. Rejects with `unavailable`. */
export async function lastBackup(stateStore: StateStore): Promise<LastBackup | undefined> {
  const [row] = await stateStore.load(lastBackupTable, [LAST]);
  return row?.body;
}
