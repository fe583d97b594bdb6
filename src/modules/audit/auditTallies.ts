import { talliesModel, tallyId } from '../../../projections/audit.ts';
import { type AuditFirsts, addFirsts } from '../../../projections/auditFirsts.ts';
import {
  type AuditTally,
  addTallies,
  addUses,
  emptyTally,
  type PrincipalUse,
  type Span,
  tallyMinutes,
} from '../../../projections/auditTally.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { loadHead } from './auditParts.ts';

interface TallyPorts {
  readModels: ReadModels;
}

/**
 * Returns the last use of a workspace's keys, and by users in it, by id; only the last 1,000. It may lag behind the log. Rejects
 * with `unavailable`.
 */
export async function lastUses(
  { readModels }: TallyPorts,
  workspace: string,
): Promise<Map<string, PrincipalUse>> {
  const head = await loadHead(readModels, workspace);
  return new Map(Object.entries(head ? addUses(head.uses, head.entries) : {}));
}

/**
 * Returns what happened in a number of a workspace's time spans, starting with number `first`, oldest first; empty for those that
 * are no longer kept, or in the future. It may lag behind the log. Rejects with `unavailable`.
 */
export async function readTallies(
  { readModels }: TallyPorts,
  workspace: string,
  span: Span,
  { first, count }: { first: number; count: number },
): Promise<AuditTally[]> {
  const numbers = Array.from({ length: count }, (_, at) => first + at);
  const head = await loadHead(readModels, workspace);
  if (head === undefined) return numbers.map(emptyTally);
  const ids = numbers.map((number) => tallyId(workspace, span, number));
  const rows = await readModels.load(talliesModel, ids);
  const latest = addTallies(span, head.tallies[span], tallyMinutes(head.entries, head.requests));
  const known = new Map([...rows.map(({ body }) => body), ...latest].map((tally) => [tally.number, tally]));
  return numbers.map((number) => known.get(number) ?? emptyTally(number));
}

/** Returns when each step towards using a workspace was first taken. It may lag behind the log. Rejects with `unavailable`. */
export async function readFirsts({ readModels }: TallyPorts, workspace: string): Promise<AuditFirsts> {
  const head = await loadHead(readModels, workspace);
  return head ? addFirsts(head.firsts, head.entries) : {};
}
