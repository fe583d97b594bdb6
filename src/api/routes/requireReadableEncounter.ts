import { recordStream } from '../../domain/events/streamNames.ts';
import { catalogEntry } from '../../domain/records/catalog.ts';
import type { RecordExistence } from '../../modules/records/commands/RecordExistence.ts';
import { type QueryPorts, readRecord } from '../../modules/records/queries/readRecord.ts';

/** Rejects with `not_found` when the encounter does not exist, and with `gone` when it was erased. */
export async function requireReadableEncounter(
  ports: QueryPorts & { existence: RecordExistence },
  workspace: string,
  encounterId: string,
): Promise<void> {
  const missing = await ports.existence.missing([recordStream(workspace, 'encounter', encounterId)]);
  if (missing.size > 0) await readRecord(ports, workspace, catalogEntry('encounter'), encounterId);
}
