import { documentPartitions, documentsModel } from '../../projections/documents.ts';
import type { Position } from '../events/event.ts';
import { allRows } from '../reads/allRows.ts';
import { caughtUp } from '../reads/page.ts';
import type { QueryPorts } from '../reads/readRecord.ts';

/**
 * The streams of all documents of an encounter, which is named by its own stream: also of those that were removed, not of those that
 * were erased. As of every write acknowledged before the call; of them those that nobody changed since the position
 * `before`. Rejects with `unavailable`.
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
