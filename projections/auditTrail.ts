import { dataAs, isProgram, maxTime, type Position, type RecordedEvent } from '../src/domain/events/event.ts';
import type { RefusedLine, RefusedLines } from '../src/domain/events/payloads.ts';
import { workspaceOfStream } from '../src/domain/events/streams.ts';
import type { FieldFault } from '../src/domain/records/schema/faults.ts';
import type { ModelName, Row } from '../src/storage/readModels.ts';
import {
  type AuditEntry,
  type AuditTally,
  addRequests,
  addTallies,
  addUses,
  auditEntry,
  erasedEntry,
  type PrincipalUses,
  type Span,
  signaturesOf,
  spanNames,
  spans,
  tallyMinutes,
} from './auditAggregation.ts';
import { modelName, type Projection } from './projection.ts';

/** The steps by which a workspace comes into use, in order. */
export const firstSteps = ['key', 'record', 'events', 'webhook'] as const;
export type FirstStep = (typeof firstSteps)[number];

/** When each was first done, ISO 8601, UTC; absent if it was not. */
export type AuditFirsts = Partial<Record<FirstStep, string>>;

const isDone: Record<FirstStep, (entry: AuditEntry) => boolean> = {
  key: ({ type }) => type === 'ApiKeyCreated',
  record: ({ version }) => version !== undefined,
  events: ({ action, principal, code }) =>
    (action === 'events.read' || action === 'events.subscribe') &&
    principal.type === 'api_key' &&
    code === undefined,
  webhook: ({ type }) => type === 'WebhookCreated',
};

/** Returns when each step was first done, after these entries. */
export function addFirsts(before: AuditFirsts, entries: readonly AuditEntry[]): AuditFirsts {
  const firsts = { ...before };
  for (const step of firstSteps) {
    const first = firsts[step] ?? entries.find((entry) => isDone[step](entry))?.recordedAt;
    if (first !== undefined) firsts[step] = first;
  }
  return firsts;
}

/** Returns the order for a number, so that pages begin with the highest. */
export function newestFirst(number: number): number {
  return Number.MAX_SAFE_INTEGER - number;
}

/** The entry of a refused request, or of a batch with refused lines. */
export type RefusedRequest = AuditEntry & Required<Pick<AuditEntry, 'code'>> & RefusalDetails;

/** What the entry's row has in addition: the trail itself does without. */
interface RefusalDetails {
  /** What was wrong with each of the `fields`. */
  faults?: FieldFault[];
  /** Of a batch: its first refused lines. */
  firstLines?: RefusedLine[];
}

/** The properties by which refused requests can be found; `key` is the id of the API key or source. */
const requestFacets = ['key', 'field', 'code', 'status'] as const;
type RequestFacet = (typeof requestFacets)[number];

/** Values that an entry must have; any if omitted. */
export type RequestFacetValues = Partial<Record<RequestFacet, string>>;

/** A batch's entry has several values for a facet. */
const facetValues: Record<RequestFacet, (entry: RefusedRequest) => readonly string[]> = {
  key: ({ principal }) => [principal.id],
  field: ({ fields, lines }) => fields ?? Object.keys(lines?.fields ?? {}),
  code: ({ code, lines }) => (lines ? Object.keys(lines.refused) : [code]),
  status: ({ status }) => (status === undefined ? [] : [String(status)]),
};

/** Whether an entry is for a refused request. */
export function isRefusedRequest(entry: AuditEntry): entry is RefusedRequest {
  const { action, code } = entry;
  return code !== undefined && (action === 'request.refused' || action === 'record.batch');
}

/** Whether a refused request has all these values. */
export function hasRequestFacets(entry: RefusedRequest, wanted: RequestFacetValues): boolean {
  return requestFacets.every((facet) => {
    const value = wanted[facet];
    return value === undefined || facetValues[facet](entry).includes(value);
  });
}

/**
 * Returns the shortest of the lists of refused requests that contains all those with these values; undefined if there are no
 * values.
 */
export function requestList(wanted: RequestFacetValues): string | undefined {
  const { key, ...others } = wanted;
  const ofKey = key === undefined ? [] : [listed('key', key)];
  const other = requestFacets.find((facet) => facet !== 'key' && others[facet] !== undefined);
  const parts = [...ofKey, ...(other === undefined ? [] : [listed(other, wanted[other] as string)])];
  return parts.length === 0 ? undefined : parts.join(' ');
}

/** Returns the partition that lists the refused requests of a workspace's keys and sources, newest first. */
export function requestsPartition(workspace: string): string {
  return `${workspace} requests`;
}

/** Returns the id of a refused request's row. */
export function refusedRequestId(workspace: string, requestId: string): string {
  return `${workspace} request/${requestId}`;
}

/** Returns the row of an entry, if it is for a refused request. Refused dashboard pages are kept separate. */
function refusedRequestRow(
  { id, data, metadata, position }: RecordedEvent,
  entry: AuditEntry,
): Row<RefusedRequest> | undefined {
  if (!isRefusedRequest(entry)) return undefined;
  const { workspace } = metadata;
  const isOfProgram = isProgram(entry.principal);
  return {
    id: refusedRequestId(workspace, entry.requestId ?? id),
    partition: isOfProgram ? requestsPartition(workspace) : `${workspace} refused pages`,
    order: newestFirst(position),
    position,
    body: { ...entry, ...detailsOf(data) },
    lists: isOfProgram ? listsOf(entry) : [],
  };
}

function detailsOf({ faults, lines }: RecordedEvent['data']): RefusalDetails {
  const first = (lines as RefusedLines | undefined)?.first;
  return {
    ...(faults !== undefined && { faults: dataAs<FieldFault[]>(faults as object) }),
    ...(first !== undefined && { firstLines: first }),
  };
}

function listsOf(entry: RefusedRequest): string[] {
  const [ofKey, ...others] = requestFacets.flatMap((facet) =>
    [...new Set(facetValues[facet](entry))].map((value) => listed(facet, value)),
  );
  return [ofKey as string, ...others, ...others.map((other) => `${ofKey} ${other}`)];
}

function listed(facet: RequestFacet, value: string): string {
  return `${facet}=${encodeURIComponent(value)}`;
}

/** Number of entries in a chunk: the head row, which every batch rewrites, has to stay small. */
export const ENTRIES_A_CHUNK = 64;
/** Number of chunks in an index row. */
export const CHUNKS_AN_INDEX = 16;

/** How far the times of entries may decrease before a search by time takes it into account. */
export const CLOCKS_APART_MS = 60_000;

/** An entry of a clock that was set back: its number and position, and the latest time before it. */
interface SetBack {
  number: number;
  position: Position;
  latest: string;
}

/** Body of a workspace's head row: the entries that do not fill a chunk yet, and the totals of all chunks. */
export interface AuditHead {
  /** Number of entries of the workspace, including those in chunks. */
  size: number;
  entries: AuditEntry[];
  /** Of the last chunks, which do not fill an index row yet, oldest first. */
  indexes: AuditIndex[];
  /** The latest `recordedAt` in all chunks; empty without any. */
  latest: string;
  /** The last entry in chunks that a clock recorded more than `CLOCKS_APART_MS` before an earlier one. */
  setBack?: SetBack;
  /** Of all entries in chunks. */
  uses: PrincipalUses;
  /** Of the entries in chunks, for the last span of each length, which is not over yet. */
  tallies: Partial<Record<Span, AuditTally>>;
  /** The ids of the last requests of the entries in chunks. */
  requests: string[];
  /** Of the entries in chunks. */
  firsts: AuditFirsts;
}

/** Body of a chunk's row: entries in log order. Chunk number n begins with entry `n * ENTRIES_A_CHUNK`. */
export interface AuditChunk {
  entries: AuditEntry[];
}

/** Tells whether a chunk is worth reading. */
export interface AuditIndex {
  /** The latest time up to the chunk's first and last entry, ISO 8601: it never decreases, unlike the times of entries. */
  from: string;
  to: string;
  /** The earliest time of its entries. */
  earliest: string;
  signatures: string;
}

/** Body of an index row: number n covers the chunks from `n * CHUNKS_AN_INDEX` on. */
export interface AuditIndexRow {
  indexes: AuditIndex[];
}

/** The contents of the read model's rows. */
export type AuditBody = AuditHead | AuditChunk | AuditIndexRow | AuditTally | RefusedRequest;

const emptyHead: AuditHead = {
  size: 0,
  entries: [],
  indexes: [],
  latest: '',
  uses: {},
  tallies: {},
  requests: [],
  firsts: {},
};

/**
 * The audit trail of a workspace: every event in log order, numbered from 0. Its head is the row with the workspace's id. Entries
 * are stored a chunk per row, because a row per event would cost more than everything else done for it. Those of refused
 * requests, which are few, also have a row each; so has each of the last completed minutes, hours and days.
 */
export const audit: Projection<AuditBody> = {
  name: 'audit',
  purpose: 'Audit trail, requests and figures',
  version: 8,
  rowId: (event) => event.metadata.workspace,
  evolve(row, event) {
    const entry = auditEntry(event);
    const refused = refusedRequestRow(event, entry);
    return [...withEntry(row, event.metadata.workspace, entry), ...(refused ? [refused] : [])];
  },
  erased: {
    rowId: ({ stream }) => workspaceOfStream(stream),
    evolve: (row, event, listed) =>
      listed && withEntry(row, workspaceOfStream(event.stream), erasedEntry(event, listed)),
  },
};

/** The place of an entry. */
interface Place {
  workspace: string;
  position: Position;
}

/** Returns the head row with one more entry, followed by the rows that the entry fills. */
function withEntry(
  row: Row<AuditBody> | undefined,
  workspace: string,
  entry: AuditEntry,
): [Row<AuditBody>, ...Row<AuditBody>[]] {
  const place = { workspace, position: entry.position };
  const head = (row?.body as AuditHead | undefined) ?? emptyHead;
  const size = head.size + 1;
  const entries = [...head.entries, entry];
  if (entries.length < ENTRIES_A_CHUNK) return [headRow(row, place, { ...head, size, entries })];
  const times = entries.map(({ recordedAt }) => recordedAt);
  const index: AuditIndex = {
    from: maxTime(head.latest, times[0] as string),
    to: times.reduce(maxTime, head.latest),
    earliest: times.toSorted()[0] as string,
    signatures: signaturesOf(entries),
  };
  const indexes = [...head.indexes, index];
  const isIndexFull = indexes.length === CHUNKS_AN_INDEX;
  const minutes = tallyMinutes(entries, head.requests);
  const tallies = spanNames.map((span) => [span, addTallies(span, head.tallies[span], minutes)] as const);
  const after: AuditHead = {
    size,
    entries: [],
    indexes: isIndexFull ? [] : indexes,
    latest: index.to,
    ...lastSetBack({ ...head, entries, size }),
    uses: addUses(head.uses, entries),
    tallies: Object.fromEntries(tallies.map(([span, all]) => [span, all.at(-1)])),
    requests: addRequests(head.requests, entries),
    firsts: addFirsts(head.firsts, entries),
  };
  const chunks = size / ENTRIES_A_CHUNK;
  const changed: [Row<AuditBody>, ...Row<AuditBody>[]] = [
    headRow(row, place, after),
    chunkRow(place, chunks - 1, { entries }),
    ...tallies.flatMap(([span, all]) => all.slice(0, -1).map((tally) => tallyRow(place, span, tally))),
  ];
  if (isIndexFull) changed.push(indexRow(place, chunks / CHUNKS_AN_INDEX - 1, { indexes }));
  return changed;
}

/** Returns the last entry that a clock set back recorded, those not in chunks included: after it, times hardly decrease. */
export function lastSetBack({
  size,
  entries,
  latest,
  setBack,
}: Pick<AuditHead, 'size' | 'entries' | 'latest' | 'setBack'>): Pick<AuditHead, 'setBack'> {
  let [last, time] = [setBack, latest];
  for (const [at, { recordedAt, position }] of entries.entries()) {
    const isSetBack = recordedAt < time && Date.parse(time) - Date.parse(recordedAt) > CLOCKS_APART_MS;
    if (isSetBack) last = { number: size - entries.length + at, position, latest: time };
    time = maxTime(time, recordedAt);
  }
  return last ? { setBack: last } : {};
}

/** Returns the id of a chunk's row. */
export function chunkId(workspace: string, number: number): string {
  return `${workspace}/${number}`;
}

/** Returns the partition that lists the index rows of a workspace, newest first. */
export function indexPartition(workspace: string): string {
  return `${workspace} index`;
}

function headRow(row: Row | undefined, { workspace, position }: Place, body: AuditHead): Row<AuditHead> {
  return {
    id: workspace,
    // No workspace has such an id.
    partition: 'audit heads',
    order: row?.order ?? position,
    position,
    body,
  };
}

function chunkRow({ workspace, position }: Place, number: number, body: AuditChunk): Row<AuditChunk> {
  const id = chunkId(workspace, number);
  return { id, partition: `${workspace} chunks`, order: newestFirst(number), position, body };
}

function indexRow({ workspace, position }: Place, number: number, body: AuditIndexRow): Row<AuditIndexRow> {
  const partition = indexPartition(workspace);
  const id = `${partition}/${number}`;
  return { id, partition, order: newestFirst(number), position, body };
}

/** Returns the id of the row of a completed span. It replaces an earlier one that is no longer needed. */
export function tallyId(workspace: string, span: Span, number: number): string {
  return `${workspace} ${span}/${number % spans[span].kept}`;
}

function tallyRow({ workspace, position }: Place, span: Span, body: AuditTally): Row<AuditTally> {
  const order = body.number % spans[span].kept;
  const id = tallyId(workspace, span, body.number);
  return { id, partition: `${workspace} ${span}`, order, position, body };
}

export const auditModel = modelName(audit);

/** The same read model, for the rows of spans. */
export const talliesModel = modelName(audit) as ModelName<AuditTally>;

/** The same read model, for the rows of refused requests. */
export const refusedRequestsModel = modelName(audit) as ModelName<RefusedRequest>;
