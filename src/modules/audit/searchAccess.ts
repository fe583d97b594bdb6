import type { ShownThing } from '../../domain/events/shown.ts';
import type { Found, SearchRequest } from '../records/queries/searchRecords.ts';
import { looksFor } from '../records/queries/searchText.ts';
import type { AccessRecorded } from './recordAccess.ts';

/**
 * Returns the single entry for a search: what it showed, and what sort of words were searched for. The words themselves are not
 * included, as they are names; `kind` is present if one was requested.
 */
export function searchAccess(
  { text, limit }: SearchRequest,
  kind: string | undefined,
  items: readonly Found[],
): AccessRecorded {
  return {
    action: 'record.search',
    query: { for: looksFor(text), ...(kind !== undefined && { kind }), limit },
    shown: { ranges: [], count: items.length, things: items.map(shownThing) },
  };
}

function shownThing({ kind, id, details }: Found): ShownThing {
  return kind === 'document'
    ? { kind, record_id: details.encounter_id as string, document_id: id }
    : { kind, record_id: id };
}
