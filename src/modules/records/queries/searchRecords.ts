import { bodyOf, type Incomplete } from '../../../../projections/projection.ts';
import { type Findable, isRecordState, searchModel } from '../../../../projections/search.ts';
import type { Position } from '../../../domain/events/event.ts';
import {
  documentIdsOf,
  kindOfStream,
  kindPartition,
  recordIdOf,
} from '../../../domain/events/streamNames.ts';
import { catalogEntry } from '../../../domain/records/catalog.ts';
import { recordName } from '../../../domain/records/schema/recordName.ts';
import { tellingFields } from '../../../domain/records/searchTerms.ts';
import type { Row, SearchQuery } from '../../../storage/readModels.ts';
import { caughtUp, decodeToken, encodeToken, type Page, type PageRequest, type TokenScope } from './page.ts';
import type { QueryPorts } from './readRecord.ts';
import { hasTerms, type Match, matches, patternsOf } from './searchText.ts';

/** Rows looked at for one page: where most were already found by a better match, a page ends before it is full. */
const MAX_SCANNED = 1_000;

/** A search request: `text` is normalized by `tidied`. */
export interface SearchRequest extends PageRequest {
  text: string;
  /** Kinds of records, and `document`, to search. */
  kinds: readonly string[];
}

/** A record or document that was found. */
export interface Found {
  kind: string;
  /** The caller's id; for a document, `details.encounter_id` is that of its encounter. */
  id: string;
  /** What people call it: its name, or its file's; otherwise its id. */
  title: string;
  /** What tells it apart from others of the same name: fields by their dotted names. */
  details: Record<string, string>;
  matched: Match;
  /** Set for a removed document. */
  removed?: true;
  version: number;
  created_at: string;
  /** For a removed document: when it was removed. */
  updated_at: string;
}

/**
 * Resolves with one page of what matches every word of a text, including every write acknowledged before the call:
 * first what has it as a whole id or number, then what has its words, then what has words that begin with them;
 * within each, those whose searchable content changed last come first. A page may have fewer than `limit` and still
 * have a token. Rejects with `unavailable`, and with `validation_failed` for an invalid token.
 */
export async function searchRecords(
  ports: QueryPorts,
  workspace: string,
  { text, kinds, limit, pageToken }: SearchRequest,
): Promise<Page<Found>> {
  const scope = ['search', workspace, text, kinds];
  let place: Place | undefined = pageToken === undefined ? { tier: 0 } : placeOf(pageToken, scope);
  const patterns = patternsOf(text);
  const partitions = kinds.map((kind) => kindPartition(workspace, kind));
  await caughtUp(ports, searchModel, 'search');
  const found: { item: Found; place: Place }[] = [];
  for (let scanned = 0; place !== undefined && found.length <= limit && scanned < MAX_SCANNED; ) {
    const { tier, below }: Place = place;
    const matched = matches[tier] as Match;
    const most = limit + 1 - found.length;
    const query: SearchQuery = { partitions, words: patterns[matched], below, limit: most };
    const rows: Row<Findable | Incomplete>[] = await ports.readModels.search(searchModel, query);
    const better = matches.slice(0, tier).map((match) => patterns[match]);
    for (const row of rows) {
      const { terms = [], since } = row.search ?? {};
      if (better.some((words) => hasTerms(new Set(terms), words))) continue;
      for (const item of itemsOf(row, matched)) found.push({ item, place: { tier, below: since } });
    }
    scanned += rows.length;
    place = rows.length < most ? nextTier(tier) : { tier, below: rows.at(-1)?.search?.since };
  }
  const next = found.length > limit ? found[limit - 1]?.place : place;
  return {
    items: found.slice(0, limit).map(({ item }) => item),
    next_page_token: next
      ? `${next.tier}.${encodeToken(next.below ?? Number.MAX_SAFE_INTEGER, scope)}`
      : null,
  };
}

/** How far a search has got. */
interface Place {
  /** Index of the way to match. */
  tier: number;
  /** Within it, everything from this position onwards is done. */
  below?: Position | undefined;
}

function nextTier(tier: number): Place | undefined {
  return tier + 1 < matches.length ? { tier: tier + 1 } : undefined;
}

function placeOf(token: string, scope: TokenScope): Place {
  const [, tier, rest] = /^([0-2])\.([\w-]+)$/.exec(token) ?? [];
  return { tier: Number(tier), below: decodeToken(rest ?? '', scope) };
}

function itemsOf(row: Row<Findable | Incomplete>, matched: Match): Found[] {
  const state = bodyOf<Findable>(row);
  if (state === undefined) return [];
  const { version, createdAt: created_at, updatedAt: updated_at } = state;
  return [{ ...shownOf(row.id, state), matched, version, created_at, updated_at }];
}

function shownOf(
  stream: string,
  state: Findable,
): Pick<Found, 'kind' | 'id' | 'title' | 'details' | 'removed'> {
  if (isRecordState(state)) {
    const { kind, fields } = state;
    const id = recordIdOf(stream);
    return { kind, id, title: recordName(fields) ?? id, details: tellingFields(catalogEntry(kind), fields) };
  }
  const { encounterId: encounter_id, documentId: id } = documentIdsOf(stream);
  const { filename = id, category } = state.document ?? {};
  return {
    ...{ kind: kindOfStream(stream), id, title: filename },
    details: { encounter_id, ...(category && { category }) },
    ...(state.removed && { removed: true }),
  };
}
