import { documentPartitions, documentsModel } from '../../projections/documents.ts';
import type { Position } from '../events/event.ts';
import { allRows } from '../reads/allRows.ts';
import { caughtUp } from '../reads/page.ts';
import type { QueryPorts } from '../reads/readRecord.ts';

/**
 * Returns the streams of all documents of an encounter, given its own stream: including removed documents, excluding erased ones.
 * As of every write acknowledged before the call; with `before`, only those not changed since that position. Rejects with
 * `unavailable`.
 */
export async function findDocuments(
  ports: QueryPorts,
  encounter: string,
  before: Position = Number.POSITIVE_INFINITY,
): Promise<string[]> {
  const found: string[] = [];
  await caughtUp(ports, documentsModel);
  for (const partition of documentPartitions(encounter)) {
    for await (const { id, position } of allRows(ports.readModels, documentsModel, partition)) {
      if (position < before) found.push(id);
    }
  }
  return found;
}
