import { z } from 'zod';
import { type BackupOptions, type BackupResult, takeBackup } from '../modules/backup/takeBackup.ts';
import { loadConfig } from '../platform/config.ts';
import type { StateStore, StateTable } from '../storage/stateStore.ts';
import { asOnlyOne } from './asOnlyOne.ts';
import { findKeys } from './keyFiles.ts';
import { openBackupTarget, openOwnStateStore } from './openBackend.ts';
import { openSigningKey } from './signingKey.ts';
import { backedUpTables } from './stateTables.ts';
import { terminal } from './terminal.ts';
import { requireKeyFolder, withDocumentStore, withEventLog } from './withStores.ts';

const lastBackupSchema = z.object({ place: z.string(), created_at: z.string() });
type LastBackup = z.infer<typeof lastBackupSchema>;

/** The last backup, in one row. */
const lastBackupTable: StateTable<LastBackup> = { name: 'last_backup_v1', body: lastBackupSchema };
const LAST = 'last';

async function rememberBackup(stateStore: StateStore, place: string, created_at: string): Promise<void> {
  const revision = Date.parse(created_at);
  const row = { id: LAST, partition: LAST, order: 0, revision, body: { place, created_at } };
  await stateStore.save(lastBackupTable, [row]);
}

/** Returns the last backup that `backUp` took; undefined when there was none. Rejects with `unavailable`. */
export async function lastBackup(stateStore: StateStore): Promise<LastBackup | undefined> {
  const [row] = await stateStore.load(lastBackupTable, [LAST]);
  return row?.body;
}

/** Backs up the service named by the environment to a place. Rejects as `takeBackup` does. */
export async function backUp(place: string, options: BackupOptions): Promise<BackupResult> {
  const config = loadConfig(terminal().env);
  requireKeyFolder(config.signingKey, config.dataDir);
  const target = await openBackupTarget(place);
  return withEventLog((eventLog) =>
    withDocumentStore(async (documentStore) => {
      const stateStore = await openOwnStateStore(config, eventLog);
      try {
        return await asOnlyOne(config.stateUrl, async (requireOnly) => {
          const ports = { eventLog, documentStore, stateStore, target, tables: backedUpTables };
          const keys = {
            async keys() {
              // Created if there is none, so that it is in the backup.
              await openSigningKey(eventLog, config);
              return findKeys(config);
            },
            signingKey: () => openSigningKey(eventLog, config),
          };
          const result = await takeBackup({ ...ports, ...keys, requireOnly }, options);
          await rememberBackup(stateStore, place, result.manifest.created_at);
          return result;
        });
      } finally {
        await stateStore.close();
      }
    }),
  );
}
