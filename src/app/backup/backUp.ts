import { type BackupOptions, type BackupResult, takeBackup } from '../../backup/takeBackup.ts';
import { loadConfig } from '../../config.ts';
import { findKeys } from '../keys/keyFiles.ts';
import { openSigningKey } from '../keys/signingKey.ts';
import { openBackupTarget, openStateStore } from '../openBackend.ts';
import { terminal } from '../terminal.ts';
import { requireKeyFolder, withDocumentStore, withEventLog } from '../withStores.ts';
import { asOnlyOne } from './asOnlyOne.ts';
import { backedUpTables } from './stateTables.ts';

/** Backs up the service named by the environment to a place. Rejects as `takeBackup` does. */
export async function backUp(place: string, options: BackupOptions): Promise<BackupResult> {
  const config = loadConfig(terminal().env);
  requireKeyFolder(config.signingKey, config.dataDir);
  const target = await openBackupTarget(place);
  return withEventLog((eventLog) =>
    withDocumentStore(async (documentStore) => {
      const stateStore = await openStateStore(config.stateUrl);
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
          return takeBackup({ ...ports, ...keys, requireOnly }, options);
        });
      } finally {
        await stateStore.close();
      }
    }),
  );
}
