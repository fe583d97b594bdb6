import type { RecordExistence } from '../../../commands/RecordExistence.ts';
import { recordStream } from '../../../events/streamNames.ts';
import { type QueryPorts, readRecord } from '../../../reads/readRecord.ts';
import { catalogEntry } from '../../../records/catalog.ts';

/** Rejects with `not_found` when the encounter does not exist, and with `gone` when it was erased. */
export async function requireReadableEncounter(
  ports: QueryPorts & { existence: RecordExistence },
  workspace: string,
  encounterId: string,
): Promise<void> {
  const missing = await ports.existence.missing([recordStream(workspace, 'encounter', encounterId)]);
  if (missing.size > 0) await readRecord(ports, workspace, catalogEntry('encounter'), encounterId);
}
