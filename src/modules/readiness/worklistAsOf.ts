import { setImmediate as nextTurn } from 'node:timers/promises';
import { bodyOf } from '../../../projections/projection.ts';
import { recordsModel } from '../../../projections/records.ts';
import { kindPartition, recordIdOf } from '../../domain/events/streams.ts';
import { dayAt } from '../../domain/records/schema/timeZones.ts';
import { ServiceError, UnreadableError } from '../../platform/errors.ts';
import { caughtUp, decodeToken, encodeToken, type PageRequest } from '../records/queries/paging.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import { type Readiness, readReadiness } from './queries.ts';
import type { CachedSteps } from './replay.ts';
import { readRuleSettings } from './rules/rule.ts';
import { requireSelectedRecords, type Worklist } from './worklist.ts';
import { isWanted, type WorklistSelection } from './worklistFanOut.ts';
import { worklistEntry, worklistModel } from './worklistModel.ts';

/** Encounters evaluated for one page, and at a time. */
const MOST_EVALUATED = 200;
const AT_ONCE = 2;
/** Rows read at once, and looked at for one page: those created since cost little. */
const CHUNK = 500;
const MAX_SCANNED = 10_000;

/**
 * Resolves with a page of the worklist as of a moment, in milliseconds since 1970: each encounter as the rules and settings of then
 * find it by what was recorded up to then, in the order of creation, without anything erased since; there are no counts. A page may
 * have fewer than `limit`, or none, and still have a token. Rejects with `unavailable`, with `unreadable` where the rule settings
 * cannot be read, and with `validation_failed` for a token of another list and as `requireSelectedRecords` does.
 */
export async function readWorklistAsOf(
  ports: QueryPorts,
  workspace: string,
  selection: WorklistSelection,
  { limit, pageToken, asOf }: PageRequest & { asOf: number },
): Promise<Omit<Worklist, 'settings'>> {
  const scope = [worklistModel, workspace, selection, { asOf }];
  let last = pageToken === undefined ? -1 : decodeToken(pageToken, scope);
  await requireSelectedRecords(ports.eventLog, workspace, selection);
  const position = await caughtUp(ports, recordsModel, 'worklist', { refusesEarly: true });
  const { timeZone } = await readRuleSettings(ports.eventLog, workspace);
  const worklist: Omit<Worklist, 'settings'> = {
    ...{ items: [], counts: undefined, next_page_token: null, today: dayAt(asOf, timeZone) },
    progress: { isCurrent: true, underWay: [] },
  };
  const upTo = (place: number) => ({ ...worklist, next_page_token: encodeToken(place, scope) });
  const remembered: CachedSteps = new Map();
  let [evaluated, scanned] = [0, 0];
  const partition = kindPartition(workspace, 'encounter');
  for (;;) {
    const rows = await ports.readModels.page(recordsModel, { partition, after: last, limit: CHUNK });
    for (let from = 0; from < rows.length; from += AT_ONCE) {
      if (evaluated >= MOST_EVALUATED || scanned >= MAX_SCANNED) return upTo(last);
      const some = rows.slice(from, from + AT_ONCE);
      const found = await Promise.all(
        some.map((row) => {
          const state = bodyOf(row);
          if (row.order > position || (state && Date.parse(state.createdAt) > asOf)) return undefined;
          evaluated += 1;
          return readinessAt(ports, workspace, recordIdOf(row.id), asOf, remembered);
        }),
      );
      for (const [at, row] of some.entries()) {
        if (worklist.items.length === limit) return upTo(last);
        [last, scanned] = [row.order, scanned + 1];
        const readiness = found[at];
        const entry = readiness && worklistEntry(readiness, asOf);
        if (!entry || !isWanted(entry, selection)) continue;
        if (selection.state === undefined || entry.state === selection.state) worklist.items.push(entry);
      }
      await nextTurn();
    }
    if (rows.length < CHUNK) return worklist;
  }
}

/** Resolves with nothing where the encounter did not exist then, was erased since, or cannot be read: the worklist leaves it out. */
async function readinessAt(
  ports: QueryPorts,
  workspace: string,
  id: string,
  asOf: number,
  remembered: CachedSteps,
): Promise<Readiness | undefined> {
  try {
    return await readReadiness(ports, workspace, id, asOf, remembered);
  } catch (error) {
    const isNothing = error instanceof ServiceError && ['not_found', 'gone'].includes(error.code);
    if (isNothing || error instanceof UnreadableError) return undefined;
    throw error;
  }
}
