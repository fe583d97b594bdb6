import { documentsModel } from '../../projections/documents.ts';
import type { Position } from '../events/event.ts';
import { readPage } from '../reads/page.ts';
import type { QueryPorts } from '../reads/readRecord.ts';

const PAGE = 500;

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
  for (const partition of [encounter, `${encounter} removed`]) {
    for (let pageToken: string | undefined; ; ) {
      const page = await readPage(ports, documentsModel, partition, { limit: PAGE, pageToken });
      for (const { id, position } of page.items) {
        if (position < before) found.push(id);
      }
      if (page.next_page_token === null) break;
      pageToken = page.next_page_token;
    }
  }
  return found;
}
