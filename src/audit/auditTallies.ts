import {
  type AuditDay,
  type AuditMinute,
  addDay,
  addMinutes,
  addUses,
  dayOf,
  MAX_MINUTES,
  minuteOf,
  nothing,
  type PrincipalUse,
} from '../../projections/audit/auditTally.ts';
import type { ReadModels } from '../ports/readModels.ts';
import { loadHead } from './auditParts.ts';

/**
 * The last use of a workspace's keys, and of users in it, by id; those beyond the last 1,000 are left out. It may lag
 * behind the log. Rejects with `unavailable`.
 */
export async function lastUses(
  { readModels }: { readModels: ReadModels },
  workspace: string,
): Promise<Map<string, PrincipalUse>> {
  const head = await loadHead(readModels, workspace);
  return new Map(Object.entries(head ? addUses(head.uses, head.entries) : {}));
}

/**
 * What happened in each of the 60 minutes up to the present one, oldest first. It may lag behind the log. Rejects with
 * `unavailable`.
 */
export async function recentMinutes(
  { readModels }: { readModels: ReadModels },
  workspace: string,
): Promise<AuditMinute[]> {
  const head = await loadHead(readModels, workspace);
  const known = new Map(
    (head ? addMinutes(head.minutes, head.entries) : []).map((minute) => [minute.minute, minute]),
  );
  const present = minuteOf(Date.now());
  return Array.from({ length: MAX_MINUTES }, (_, at) => {
    const minute = present - MAX_MINUTES + 1 + at;
    return known.get(minute) ?? { minute, ...nothing };
  });
}

/** What happened in the present day, UTC. It may lag behind the log. Rejects with `unavailable`. */
export async function today(
  { readModels }: { readModels: ReadModels },
  workspace: string,
): Promise<AuditDay> {
  const head = await loadHead(readModels, workspace);
  const present = { day: dayOf(Date.now()), ...nothing };
  if (head === undefined) return present;
  const last = addDay(head.day, head.entries);
  return last.day < present.day ? present : last;
}
