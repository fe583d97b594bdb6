import { eventIdTime } from '../src/domain/events/eventIdTime.ts';
import { isProgram } from '../src/domain/events/eventMetadata.ts';
import type { AuditEntry } from './auditEntry.ts';

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
