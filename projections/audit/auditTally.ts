import type { AuditEntry } from './auditEntry.ts';

/** The last use of a key or user, and how many there were. */
export interface PrincipalUse {
  /** ISO 8601, UTC. */
  at: string;
  /** Why the last one was refused; left out where it was accepted. */
  code?: string;
  count: number;
}

/** Uses by the id of the key or user, the one that was used last at the end. */
export type PrincipalUses = Record<string, PrincipalUse>;

/** How much happened. */
interface Tally {
  /** Changes: events that are no mere record of an access. */
  events: number;
  /** Requests with a key: changes, reads and what was refused. */
  requests: number;
  /** How many of those were refused, by code: pages of the dashboard that a role may not see do not count. */
  refused: Record<string, number>;
}

/** What happened in one minute. */
export interface AuditMinute extends Tally {
  /** Minutes since 1970. */
  minute: number;
}

/** What happened in one day, UTC. */
export interface AuditDay extends Tally {
  /** Days since 1970. */
  day: number;
}

/** Who was not among the last so many to do anything is forgotten: the row of all uses has to stay small. */
export const MAX_USES = 1_000;
export const MAX_MINUTES = 60;

export const nothing: Tally = { events: 0, requests: 0, refused: {} };

/** The uses after these entries, in order. */
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

/** The last minutes in which anything happened, after these entries. Should a clock go back, they count to the latest. */
export function addMinutes(before: readonly AuditMinute[], entries: readonly AuditEntry[]): AuditMinute[] {
  const minutes = [...before];
  for (const entry of entries) {
    const minute = minuteOf(Date.parse(entry.recordedAt));
    const last = minutes.at(-1);
    if (last && last.minute >= minute) minutes[minutes.length - 1] = counted(last, entry);
    else minutes.push(counted({ minute, ...nothing }, entry));
  }
  return minutes.slice(-MAX_MINUTES);
}

/** The last day in which anything happened, after these entries. Should a clock go back, they count to the latest. */
export function addDay(before: AuditDay, entries: readonly AuditEntry[]): AuditDay {
  return entries.reduce((last, entry) => {
    const day = dayOf(Date.parse(entry.recordedAt));
    return counted(last.day >= day ? last : { day, ...nothing }, entry);
  }, before);
}

/** Number of the minute of a moment, given in milliseconds since 1970. */
export function minuteOf(time: number): number {
  return Math.floor(time / 60_000);
}

/** Number of the day of a moment, UTC, given in milliseconds since 1970. */
export function dayOf(time: number): number {
  return Math.floor(time / 86_400_000);
}

function counted<Counts extends Tally>(before: Counts, { type, principal, code }: AuditEntry): Counts {
  const { events, requests, refused } = before;
  const isRequest = principal.type === 'api_key';
  return {
    ...before,
    events: events + (type === 'AccessRecorded' ? 0 : 1),
    requests: requests + (isRequest ? 1 : 0),
    refused: isRequest && code !== undefined ? { ...refused, [code]: (refused[code] ?? 0) + 1 } : refused,
  };
}
