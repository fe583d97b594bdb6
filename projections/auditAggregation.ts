import {
  dataAs,
  type ErasedEvent,
  eventIdTime,
  isProgram,
  type Position,
  type Principal,
  type RecordedEvent,
} from '../src/domain/events/event.ts';
import {
  type DisclosedRange,
  type DisclosureTerms,
  type ListedEvent,
  type RefusedLines,
  type Written,
  writtenOf,
} from '../src/domain/events/payloads.ts';
import { ownerKind } from '../src/domain/events/streams.ts';
import { upcast } from '../src/domain/events/upcasting.ts';
import { changedKind, type EventSubject, eventSubject, subjectKinds } from '../src/domain/records/catalog.ts';

/** Which setting was changed. */
type SettingKind = 'workspace' | 'api_key' | 'webhook' | 'user';

/** One line of the audit trail: who did what to what, and with what result. It contains no field of a record except ids. */
export interface AuditEntry {
  position: Position;
  eventId: string;
  /** Type of the event. */
  type: string;
  /** The action of an `AccessRecorded`. */
  action?: string;
  /** ISO 8601, UTC. */
  recordedAt: string;
  principal: Principal;
  clientIp?: string;
  userAgent?: string;
  /** The client's id for its request, and the trace that it is part of. */
  clientRequestId?: string;
  traceparent?: string;
  /** Absent if it is the event's id. */
  requestId?: string;
  /**
   * What it is about: a kind of record, `document`, or a `SettingKind`; for a read of the audit trail, what it was searched for.
   */
  kind?: string;
  /** The caller's id of the record; for a document, that of its encounter; otherwise the id of what was changed. */
  id?: string;
  documentId?: string;
  /** For a record or document that was changed: the version created by the event. */
  version?: number;
  /** Why it was refused; absent if it was accepted. */
  code?: string;
  /** For a refused request, or a batch with refused lines. */
  method?: string;
  route?: string;
  /** The HTTP status of the code; absent in entries of earlier versions. */
  status?: number;
  /** Names of the fields at fault, if any. */
  fields?: string[];
  lines?: RefusedLines;
  /** What was requested besides the subject, as the event has it: never words that were searched for. */
  query?: Record<string, unknown>;
  /** What was shown or sent, if more than one thing. */
  shown?: DisclosedRange;
  /** How many there were, if the entry stands for several. */
  count?: number;
  /** Recipient and purpose, as stated at the time of disclosure. */
  disclosedTo?: DisclosureTerms;
}

/** Types of events that change settings start with one of these; the field contains the id of what is changed. */
const settings: readonly { begin: string; kind: SettingKind; field: string }[] = [
  { begin: 'ApiKey', kind: 'api_key', field: 'key_id' },
  { begin: 'Webhook', kind: 'webhook', field: 'webhook_id' },
  { begin: 'User', kind: 'user', field: 'user_id' },
  { begin: 'Workspace', kind: 'workspace', field: 'workspace' },
  { begin: 'Hold', kind: 'workspace', field: 'workspace' },
];

/** Returns the entry of an event. Throws when it has an unknown schema version. */
export function auditEntry(recorded: RecordedEvent): AuditEntry {
  const event = upcast(recorded);
  const { type, data } = event;
  const subject = eventSubject(event);
  const entry = entryOf(event, writtenOf(event), subject);
  if (type === 'AccessRecorded') addAccess(entry, event);
  else if (entry.version === undefined && subject.kind === undefined) addSetting(entry, data);
  return entry;
}

/** Returns the entry of an erased event, from what its tombstone says about it: the same as it was before. */
export function erasedEntry(event: ErasedEvent, listed: ListedEvent): AuditEntry {
  const { kind, record_id: recordId, document_id: documentId, written } = listed;
  const about = kind === 'document' ? kind : (ownerKind(kind) ?? kind);
  return entryOf(event, written, { kind: about, recordId, documentId });
}

type Place = Pick<RecordedEvent, 'id' | 'stream' | 'revision' | 'position'>;

function entryOf(
  { id, stream, revision, position }: Place,
  written: Written,
  subject: EventSubject,
): AuditEntry {
  const { requestId, type, ...who } = written;
  const entry: AuditEntry = { position, eventId: id, type, ...who };
  if (requestId !== id) entry.requestId = requestId;
  if (subject.kind !== undefined) entry.kind = subject.kind;
  if (subject.recordId !== undefined) entry.id = subject.recordId;
  if (subject.documentId !== undefined) entry.documentId = subject.documentId;
  if (changedKind({ type, stream }) !== undefined) entry.version = revision + 1;
  return entry;
}

function addAccess(entry: AuditEntry, { data }: RecordedEvent): void {
  const { action, code, method, route } = data as Record<string, string | undefined>;
  if (action !== undefined) entry.action = action;
  if (code !== undefined) entry.code = code;
  if (method !== undefined) entry.method = method;
  if (route !== undefined) entry.route = route;
  if (data.status !== undefined) entry.status = data.status as number;
  if (data.fields !== undefined) entry.fields = data.fields as string[];
  if (data.lines !== undefined) {
    const { first: _, ...lines } = dataAs<RefusedLines>(data.lines as object);
    entry.lines = lines;
  }
  if (data.webhook_id !== undefined) {
    entry.kind = 'webhook';
    entry.id = String(data.webhook_id);
  }
  if (data.query !== undefined) addQuery(entry, dataAs<Record<string, unknown>>(data.query as object));
  if (data.disclosed_to !== undefined)
    entry.disclosedTo = dataAs<DisclosureTerms>(data.disclosed_to as object);
  if (data.count !== undefined) entry.count = data.count as number;
  if (data.shown !== undefined) entry.shown = dataAs<DisclosedRange>(data.shown as object);
}

function addQuery(entry: AuditEntry, query: Record<string, unknown>): void {
  if (Object.keys(query).length > 0) entry.query = query;
  const { id, kind } = query;
  if (!entry.action?.startsWith('audit.') || typeof id !== 'string') return;
  entry.id = id;
  if (typeof kind === 'string' && subjectKinds.includes(kind)) entry.kind = kind;
}

function addSetting(entry: AuditEntry, data: RecordedEvent['data']): void {
  const setting = settings.find(({ begin }) => entry.type.startsWith(begin));
  if (setting === undefined) return;
  entry.kind = setting.kind;
  const id = data[setting.field];
  if (typeof id === 'string') entry.id = id;
}

/** The properties by which entries can be found. */
export const auditFacets = ['principal', 'action', 'kind', 'id', 'outcome'] as const;
type AuditFacet = (typeof auditFacets)[number];

/** Values that an entry must have; any if omitted. */
export type AuditFacetValues = Partial<Record<AuditFacet, string>>;

/** Number of characters for a facet in a signature, of 6 bits each. */
const FACET_LENGTH = 3;
const SIGNATURE_LENGTH = auditFacets.length * FACET_LENGTH;
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const NONE = '.'.repeat(FACET_LENGTH);

const facetValue: Record<AuditFacet, (entry: AuditEntry) => string | undefined> = {
  principal: ({ principal }) => principal.id,
  action: ({ action, type }) => action ?? type,
  kind: ({ kind }) => kind,
  id: ({ id }) => id,
  outcome: ({ code }) => (code === undefined ? 'accepted' : 'refused'),
};

/** Whether an entry has all these values. */
export function hasFacets(entry: AuditEntry, wanted: AuditFacetValues): boolean {
  return auditFacets.every(
    (facet) => wanted[facet] === undefined || wanted[facet] === facetValue[facet](entry),
  );
}

/** Returns the concatenated signatures of entries: for each facet a hash of 18 bits. */
export function signaturesOf(entries: readonly AuditEntry[]): string {
  let text = '';
  for (const entry of entries) {
    for (const facet of auditFacets) text += hash(facetValue[facet](entry));
  }
  return text;
}

/** From the facet that is usually most selective (refusals are rare) to the least selective. */
const bySelectivity: readonly AuditFacet[] = ['id', 'outcome', 'principal', 'action', 'kind'];

/** Returns a test for signatures: false means that none of the entries has all these values, true that one very probably has. */
export function signatureTest(wanted: AuditFacetValues): (signatures: string) => boolean {
  const [first, ...others] = bySelectivity.flatMap((facet) => {
    const value = wanted[facet];
    return value === undefined
      ? []
      : [{ offset: auditFacets.indexOf(facet) * FACET_LENGTH, hash: hash(value) }];
  });
  if (first === undefined) return () => true;
  return (signatures) => {
    for (let at = signatures.indexOf(first.hash); at !== -1; at = signatures.indexOf(first.hash, at + 1)) {
      const start = at - first.offset;
      const isAligned = start % SIGNATURE_LENGTH === 0;
      if (isAligned && others.every((part) => signatures.startsWith(part.hash, start + part.offset)))
        return true;
    }
    return false;
  };
}

/**
 * Returns a test for signatures: false means that no entry has all values of one of these alternatives, true that one very
 * probably has. Its work does not grow with their number.
 */
export function anySignatureTest(alternatives: readonly AuditFacetValues[]): (signatures: string) => boolean {
  const facetsOf = (values: AuditFacetValues) => auditFacets.filter((facet) => values[facet] !== undefined);
  const groups = [...Map.groupBy(alternatives, (values) => facetsOf(values).join()).values()].map((group) => {
    const facets = facetsOf(group[0] as AuditFacetValues);
    const offsets = facets.map((facet) => auditFacets.indexOf(facet) * FACET_LENGTH);
    return {
      offsets,
      hashes: new Set(group.map((values) => facets.map((facet) => hash(values[facet])).join(''))),
    };
  });
  return (signatures) => {
    for (let start = 0; start < signatures.length; start += SIGNATURE_LENGTH) {
      for (const { offsets, hashes } of groups) {
        let key = '';
        for (const offset of offsets) key += signatures.slice(start + offset, start + offset + FACET_LENGTH);
        if (hashes.has(key)) return true;
      }
    }
    return false;
  };
}

/** FNV-1a over the UTF-16 code units, folded to 18 bits. */
function hash(value: string | undefined): string {
  if (value === undefined) return NONE;
  let bits = 0x811c9dc5;
  for (let at = 0; at < value.length; at++) bits = Math.imul(bits ^ value.charCodeAt(at), 0x01000193);
  bits ^= bits >>> 14;
  return `${DIGITS[bits & 63]}${DIGITS[(bits >>> 6) & 63]}${DIGITS[(bits >>> 12) & 63]}`;
}

/** The last use by a key or user, and the number of uses. */
export interface PrincipalUse {
  /** ISO 8601, UTC. */
  at: string;
  /** Why the last one was refused; absent if it was accepted. */
  code?: string;
  count: number;
}

/** Uses by the id of the key or user, the most recently used last. */
export type PrincipalUses = Record<string, PrincipalUse>;

/** What is counted in spans of UTC: the length of one, in milliseconds, and for how many of the last ones the counts are kept. */
export const spans = {
  minute: { ms: 60_000, kept: 60 },
  hour: { ms: 3_600_000, kept: 168 },
  day: { ms: 86_400_000, kept: 30 },
} as const;
export type Span = keyof typeof spans;
export const spanNames = Object.keys(spans) as Span[];

/** What one API key or source did. */
export interface KeyTally {
  requests: number;
  writes: number;
  refused: number;
}

/** What happened in a span. */
export interface AuditTally {
  /** The number of the span since 1970. */
  number: number;
  /** Requests with a key, and by sources: changes, reads and what was refused. A batch is one request. */
  requests: number;
  /** New versions of records and documents, by anyone. */
  writes: number;
  /** How many of these requests were refused, by code: dashboard pages that a role may not see do not count. */
  refused: Record<string, number>;
  /** The writes by kind. */
  kinds: Record<string, number>;
  /** By the id of the key or source; for those that came first. */
  keys: Record<string, KeyTally>;
  /** How many records took how long from the request's arrival until they were in the log: by the bound in `timeBounds`. */
  times: Record<string, number>;
}

/** Keys and users that are not among the last this many to do anything are forgotten: the row of all uses has to stay small. */
export const MAX_USES = 1_000;
/** Number of keys and sources that a span counts separately. */
export const MAX_KEYS = 50;

/** Milliseconds; anything longer than the second to last counts towards the last, which stands for all longer times. */
export const timeBounds = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 100_000] as const;

/** Of this many of the last requests the ids are known: the entries of a request may come between those of others. */
const MAX_RECENT = 64;

/** Returns the tally of a span in which nothing happened. */
export function emptyTally(number: number): AuditTally {
  return { number, requests: 0, writes: 0, refused: {}, kinds: {}, keys: {}, times: {} };
}

/** Returns the number of the span that contains a moment, given in milliseconds since 1970. */
export function spanNumber(span: Span, time: number): number {
  return Math.floor(time / spans[span].ms);
}

/** Returns the uses after these entries, in order. */
export function addUses(before: PrincipalUses, entries: readonly AuditEntry[]): PrincipalUses {
  const uses = new Map(Object.entries(before));
  for (const { principal, recordedAt: at, code } of entries) {
    if (principal.type !== 'api_key' && principal.type !== 'user') continue;
    const count = (uses.get(principal.id)?.count ?? 0) + 1;
    uses.delete(principal.id);
    uses.set(principal.id, code === undefined ? { at, count } : { at, code, count });
  }
  return Object.fromEntries([...uses].slice(-MAX_USES));
}

/** Returns the ids of the last requests after these entries, the latest last. */
export function addRequests(before: readonly string[], entries: readonly AuditEntry[]): string[] {
  const ids = new Set(before);
  for (const entry of entries) {
    const id = requestOf(entry);
    if (id === undefined) continue;
    ids.delete(id);
    ids.add(id);
  }
  return [...ids].slice(-MAX_RECENT);
}

/**
 * Returns the tallies of these entries for each minute in which anything happened. If a clock goes back, its entries count
 * towards the latest minute. A request counts with its first entry: `recent` are those counted before.
 */
export function tallyMinutes(entries: readonly AuditEntry[], recent: readonly string[] = []): AuditTally[] {
  const minutes: AuditTally[] = [];
  const known = new Set(recent);
  for (const entry of entries) {
    const number = spanNumber('minute', Date.parse(entry.recordedAt));
    let last = minutes.at(-1);
    if (last === undefined || last.number < number) {
      last = emptyTally(number);
      minutes.push(last);
    }
    const id = requestOf(entry);
    count(last, entry, id !== undefined && !known.has(id));
    if (id !== undefined) known.add(id);
  }
  return minutes;
}

/**
 * Returns the spans in which anything happened, from that of `before` on, after these minutes: no more than are kept. Minutes
 * before it, from a clock that went back, count towards it.
 */
export function addTallies(
  span: Span,
  before: AuditTally | undefined,
  minutes: readonly AuditTally[],
): AuditTally[] {
  const tallies = before === undefined ? [] : [before];
  for (const minute of minutes) {
    const number = spanNumber(span, minute.number * spans.minute.ms);
    const last = tallies.at(-1);
    if (last === undefined || last.number < number) tallies.push(sumTallies(number, [minute]));
    else tallies[tallies.length - 1] = sumTallies(last.number, [last, minute]);
  }
  return tallies.slice(-spans[span].kept);
}

/** Adds up the tallies of consecutive spans; `number` is that of the first. */
export function sumTallies(number: number, tallies: readonly AuditTally[]): AuditTally {
  const sum = emptyTally(number);
  for (const { requests, writes, refused, kinds, keys, times } of tallies) {
    sum.requests += requests;
    sum.writes += writes;
    for (const name of ['refused', 'kinds', 'times'] as const) {
      for (const [value, added] of Object.entries({ refused, kinds, times }[name]))
        more(sum[name], value, added);
    }
    for (const [id, key] of Object.entries(keys)) {
      const all = keyTally(sum, id);
      if (all === undefined) continue;
      all.requests += key.requests;
      all.writes += key.writes;
      all.refused += key.refused;
    }
  }
  return sum;
}

/** Undefined for what is no request by a key or source; what a stream was sent belongs to the request that opened it. */
function requestOf({ principal, action, requestId, eventId }: AuditEntry): string | undefined {
  return isProgram(principal) && action !== 'events.sent' ? (requestId ?? eventId) : undefined;
}

function count(tally: AuditTally, entry: AuditEntry, isNewRequest: boolean): void {
  const { principal, code, version, kind } = entry;
  const isWrite = version !== undefined;
  if (isWrite) {
    tally.writes += 1;
    more(tally.kinds, kind as string);
  }
  if (!isProgram(principal)) return;
  if (isNewRequest) tally.requests += 1;
  if (code !== undefined) more(tally.refused, code);
  const time = isWrite ? timeTaken(entry) : undefined;
  if (time !== undefined)
    more(tally.times, String(timeBounds.find((bound) => time <= bound) ?? timeBounds.at(-1)));
  const key = keyTally(tally, principal.id);
  if (key === undefined) return;
  if (isNewRequest) key.requests += 1;
  if (isWrite) key.writes += 1;
  if (code !== undefined) key.refused += 1;
}

/** Undefined when the maximum number of others are already counted separately. */
function keyTally({ keys }: AuditTally, id: string): KeyTally | undefined {
  if (keys[id] === undefined && Object.keys(keys).length === MAX_KEYS) return undefined;
  keys[id] ??= { requests: 0, writes: 0, refused: 0 };
  return keys[id];
}

function more(counts: Record<string, number>, name: string, added = 1): void {
  counts[name] = (counts[name] ?? 0) + added;
}

/**
 * Returns the milliseconds from the arrival of the request, according to its id, until the record was in the log. Undefined for a
 * document, where the sender sets the pace, and when the event's id differs from its request's: for lines of a batch, and
 * repeats.
 */
function timeTaken({ kind, eventId, requestId, recordedAt }: AuditEntry): number | undefined {
  if (kind === 'document' || requestId !== undefined) return undefined;
  const arrived = eventIdTime(eventId);
  return arrived === 0 ? undefined : Math.max(0, Date.parse(recordedAt) - arrived);
}
