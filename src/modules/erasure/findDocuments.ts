import { documentPartitions, documentsModel } from '../../../projections/documents.ts';
import type { Position } from '../../domain/events/event.ts';
import { allRows } from '../records/queries/allRows.ts';
import { caughtUp } from '../records/queries/page.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';

/** The stream of a document, and the positions of its first and its last event. */
export interface FoundDocument {
  stream: string;
  since: Position;
  position: Position;
}

/**
 * Returns all documents of an encounter, given its own stream: including removed documents, excluding erased ones. As of every
 * write acknowledged before the call. Rejects with `unavailable`.
 */
export async function findDocuments(ports: QueryPorts, encounter: string): Promise<FoundDocument[]> {
  const found: FoundDocument[] = [];
  await caughtUp(ports, documentsModel);
  for (const partition of documentPartitions(encounter)) {
    for await (const { id: stream, order: since, position } of allRows(
      ports.readModels,
      documentsModel,
      partition,
    )) {
      found.push({ stream, since, position });
    }
  }
  return found;
}
