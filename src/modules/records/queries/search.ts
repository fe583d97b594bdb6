import { z } from 'zod';
import { documentSearchModel } from '../../../../projections/documentSearch.ts';
import { bodyOf, type Incomplete } from '../../../../projections/projection.ts';
import { recordsModel } from '../../../../projections/records.ts';
import type { Position } from '../../../domain/events/event.ts';
import {
  documentIdsOf,
  kindOfStream,
  kindPartition,
  recordIdOf,
  recordStream,
} from '../../../domain/events/streams.ts';
import { catalogEntry } from '../../../domain/records/catalog.ts';
import type { DocumentState } from '../../../domain/records/document.ts';
import type { RecordState } from '../../../domain/records/fold.ts';
import { type CatalogEntry, recordName } from '../../../domain/records/schema/kind.ts';
import {
  dateTerm,
  dayIn,
  distinguishingFields,
  type Filter,
  fieldsFoundBy,
  initialTerm,
  isYear,
  joinedWord,
  passes,
  wholeTerm,
  wordsOf,
} from '../../../domain/records/searchIndex.ts';
import type { ModelName, Row, SearchQuery, TermPattern } from '../../../storage/readModels.ts';
import {
  caughtUp,
  decodeToken,
  encodeToken,
  type Page,
  type PageRequest,
  type TokenScope,
} from './paging.ts';
import { type QueryPorts, type RecordView, toRecordView } from './records.ts';

/**
 * What a search is for, as far as the form of its words shows: a date, a number, something with digits as in ids, or
 * a name.
 */
const searchedFor = ['name', 'id', 'date', 'number'] as const;
type SearchedFor = (typeof searchedFor)[number];

/** The ways to match, from the best fit to the weakest. */
export const matches = ['whole', 'words', 'beginnings'] as const;
type Match = (typeof matches)[number];

/** Words for which the store searches; the others are looked for in the rows that it finds. */
const MAX_SEARCHED = 16;

/** As long as any text of a record. */
const MAX_TEXT = 1_000;

/** What people may enter into a search. */
export const searchTextSchema = z
  .string()
  .max(MAX_TEXT)
  .refine((text) => tidied(text) !== '', { error: 'must not be empty' })
  .meta({
    description: 'Words that must all match',
    examples: ['lopez mar 1984'],
  });

/** The terms that each word of a text asks for; all words have to match. */
type Words = readonly (readonly TermPattern[])[];

/** Returns search input with one blank between words and none around them. */
export function tidied(text: string): string {
  return text.trim().replace(/\s+/gu, ' ');
}

/**
 * Returns the patterns that match a text, for each way to match; a text without words and numbers matches only as a
 * whole.
 */
export function patternsOf(text: string): Record<Match, Words> {
  const words = text.split(' ').flatMap(partsOf);
  const whole = wholeTerm(text);
  return {
    whole: [[{ term: whole }]],
    words: words.map(({ word, terms }) => [word, ...terms].map((term) => ({ term }))),
    beginnings: words.map(({ word, terms, isWhole }) => [
      ...(isWhole ? [{ term: word }] : beginningOf(word)),
      ...terms.map((term) => ({ term })),
    ]),
  };
}

interface Part {
  word: string;
  /** What else it may stand for: a day or a year. */
  terms: string[];
  /**
   * It is followed by punctuation, so it is not a beginning: of `patient-12`, `12` may begin a longer word, `patient`
   * cannot.
   */
  isWhole: boolean;
}

function partsOf(word: string): Part[] {
  const day = dayIn(word);
  if (day !== undefined) return [{ word: joinedWord(word), terms: [dateTerm(day)], isWhole: false }];
  const parts = wordsOf(word);
  return parts.map((part, at) => ({
    word: part,
    terms: isYear(part) ? [dateTerm(part)] : [],
    isWhole: at < parts.length - 1,
  }));
}

/** A single letter matches only initials of names: everything that begins with it would be too much. */
function beginningOf(word: string): TermPattern[] {
  return [...word].length === 1 ? [{ term: word }, { term: initialTerm(word) }] : [{ beginning: word }];
}

/** Returns what the words of a text look like, without duplicates. */
export function looksFor(text: string): SearchedFor[] {
  const sorts = text.split(' ').map((word): SearchedFor => {
    if (dayIn(word) !== undefined || isYear(word)) return 'date';
    if (/^[\d\s./-]+$/.test(word)) return 'number';
    return /\d/.test(word) ? 'id' : 'name';
  });
  return searchedFor.filter((sort) => sorts.includes(sort));
}

/** Whether terms contain, for each word, one that it asks for. Without words nothing matches. */
function hasTerms(terms: ReadonlySet<string>, words: Words): boolean {
  const fits = (pattern: TermPattern) =>
    'term' in pattern
      ? terms.has(pattern.term)
      : [...terms].some((term) => term.startsWith(pattern.beginning));
  return words.length > 0 && words.every((patterns) => patterns.some(fits));
}

/** Rows looked at for one page: where most were already found by a better match, a page ends before it is full. */
const MAX_SCANNED = 1_000;

/** What is found: the state of a record, or of a document. */
type Findable = RecordState | DocumentState;

/** Where records are found, and where documents are. */
const searchedModels: readonly { model: ModelName<Findable | Incomplete>; has(kind: string): boolean }[] = [
  { model: recordsModel, has: (kind) => kind !== 'document' },
  { model: documentSearchModel, has: (kind) => kind === 'document' },
];

/** Resolves with what a query finds in all of the read models, by descending `since`, up to its limit. */
async function searchEach(
  { readModels }: QueryPorts,
  searched: readonly { model: ModelName<Findable | Incomplete>; partitions: string[] }[],
  query: Omit<SearchQuery, 'partitions'>,
): Promise<Row<Findable | Incomplete>[]> {
  const found = await Promise.all(
    searched.map(({ model, partitions }) => readModels.search(model, { ...query, partitions })),
  );
  const since = ({ search }: Row) => search?.since ?? 0;
  return found
    .flat()
    .sort((a, b) => since(b) - since(a))
    .slice(0, query.limit);
}

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
  /** The fields, other than names, that have a searched word, by their dotted names. */
  foundBy: Record<string, string>;
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
export function searchRecords(
  ports: QueryPorts,
  workspace: string,
  request: SearchRequest,
): Promise<Page<Found>> {
  return foundPage(ports, workspace, request, (stream, state, matched, words) => {
    const { version, createdAt: created_at, updatedAt: updated_at } = state;
    return { ...shownOf(stream, state, words), matched, version, created_at, updated_at };
  });
}

/** Resolves with the records of a kind that such a search finds, as a list has them, without those that do not pass its filters. */
export function searchList(
  ports: QueryPorts,
  workspace: string,
  { kind }: CatalogEntry,
  { filters = [], ...request }: Omit<SearchRequest, 'kinds'> & { filters?: readonly Filter[] | undefined },
): Promise<Page<RecordView>> {
  return foundPage(ports, workspace, { ...request, kinds: [kind] }, (_stream, state) =>
    'fields' in state && passes(filters, state.fields) ? toRecordView(state) : undefined,
  );
}

/** Resolves with a page of what a search finds, each as `itemOf` returns it. */
async function foundPage<Item>(
  ports: QueryPorts,
  workspace: string,
  { text, kinds, limit, pageToken }: SearchRequest,
  itemOf: (stream: string, state: Findable, matched: Match, words: Words) => Item | undefined,
): Promise<Page<Item>> {
  const scope = ['search', workspace, text, kinds];
  let place: Place | undefined = pageToken === undefined ? { tier: 0 } : placeOf(pageToken, scope);
  const patterns = patternsOf(text);
  const searched = searchedModels.flatMap(({ model, has }) => {
    const partitions = kinds.filter(has).map((kind) => kindPartition(workspace, kind));
    return partitions.length === 0 ? [] : [{ model, partitions }];
  });
  for (const { model } of searched) await caughtUp(ports, model, 'search', { refusesEarly: true });
  const found: { item: Item; place: Place }[] = [];
  for (let scanned = 0; place !== undefined && found.length <= limit && scanned < MAX_SCANNED; ) {
    const { tier, below }: Place = place;
    const matched = matches[tier] as Match;
    const most = limit + 1 - found.length;
    const words = patterns[matched];
    const query = { words: words.slice(0, MAX_SEARCHED), below, limit: most };
    const rows = await searchEach(ports, searched, query);
    const better = matches.slice(0, tier).map((match) => patterns[match]);
    for (const row of rows) {
      const { terms = [], since } = row.search ?? {};
      const known = new Set(terms);
      if (better.some((ofBetter) => hasTerms(known, ofBetter))) continue;
      if (words.length > MAX_SEARCHED && !hasTerms(known, words)) continue;
      const state = bodyOf<Findable>(row);
      const item = state && itemOf(row.id, state, matched, words);
      if (item !== undefined) found.push({ item, place: { tier, below: since } });
    }
    scanned += rows.length;
    place = rows.length < most ? nextTier(tier) : { tier, below: rows.at(-1)?.search?.since };
  }
  const next = found.length > limit ? found[limit - 1]?.place : place;
  return {
    items: found.slice(0, limit).map(({ item }) => item),
    next_page_token: next
      ? `${next.tier}.${encodeToken(next.below ?? Number.MAX_SAFE_INTEGER, [scope, next.tier])}`
      : null,
  };
}

/** A record of which only the id is left. */
export interface FoundErased {
  kind: string;
  id: string;
  erased_at: string;
}

/**
 * Resolves with the erased records that have exactly this id, including every erasure acknowledged before the call.
 * Rejects with `unavailable`.
 */
export async function findErased(
  ports: QueryPorts,
  workspace: string,
  id: string,
  kinds: readonly string[],
): Promise<FoundErased[]> {
  const searched = kinds.filter((kind) => kind !== 'document');
  if (!id.isWellFormed() || searched.length === 0) return [];
  await caughtUp(ports, recordsModel, 'search');
  const streams = searched.map((kind) => recordStream(workspace, kind, id));
  const rows = await ports.readModels.load(recordsModel, streams);
  return rows.flatMap((row) => {
    const state = bodyOf(row);
    return state?.erased ? [{ kind: state.kind, id, erased_at: state.updatedAt }] : [];
  });
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
  return { tier: Number(tier), below: decodeToken(rest ?? '', [scope, Number(tier)]) };
}

function shownOf(
  stream: string,
  state: Findable,
  words: Words,
): Pick<Found, 'kind' | 'id' | 'title' | 'details' | 'foundBy' | 'removed'> {
  if ('fields' in state) {
    const { kind, fields } = state;
    const id = recordIdOf(stream);
    const entry = catalogEntry(kind);
    return {
      kind,
      id,
      title: recordName(fields) ?? id,
      details: distinguishingFields(entry, fields),
      foundBy: fieldsFoundBy(entry, fields, (terms) => words.some((word) => hasTerms(terms, [word]))),
    };
  }
  const { encounterId: encounter_id, documentId: id } = documentIdsOf(stream);
  const { filename = id, category } = state.document ?? {};
  return {
    ...{ kind: kindOfStream(stream), id, title: filename },
    details: { encounter_id, ...(category && { category }) },
    foundBy: {},
    ...(state.removed && { removed: true }),
  };
}
