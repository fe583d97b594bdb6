import { LRUCache } from 'lru-cache';
import { UnreadableError } from '../../platform/errors.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import { BillingHistory, type RememberedSteps, type Step } from './BillingHistory.ts';
import { DefectCounts } from './DefectCounts.ts';
import { defectsOf } from './defectsOf.ts';
import { readCounts } from './readCounts.ts';
import type { Scorecard } from './scorecard.ts';
import { isWithin, type ServiceDays } from './serviceDays.ts';
import { totalOf } from './tally.ts';
import { entryOf, worklistModel } from './worklistEntry.ts';
import { worklistPartition } from './worklistLists.ts';

/** Encounters read at once. */
const AT_ONCE = 100;
/** Records on which encounters depend whose versions are remembered. */
const MOST_REMEMBERED = 10_000;

/** Its progress; with the scorecard at the end. */
export interface ScorecardProgress {
  encounters: number;
  /** Approximately how many there are to look at. */
  total: number;
  scorecard?: Scorecard;
}

/**
 * Yields who introduced what kept encounters from being billed: from the log alone, over the whole history of the
 * encounters with a day of service within a range of days. Rejects with `unavailable`.
 */
export async function* makeScorecard(
  ports: QueryPorts,
  workspace: string,
  days: ServiceDays,
): AsyncGenerator<ScorecardProgress> {
  const at = Date.now();
  const remembered = new LRUCache<string, Promise<Step[]>>({ max: MOST_REMEMBERED });
  const counts = new DefectCounts();
  const tally = await readCounts(ports.readModels, workspace, days);
  const total = tally ? totalOf(tally) : 0;
  const partition = worklistPartition(workspace);
  let [after, encounters, unreadable] = [-1, 0, 0];
  for (;;) {
    const rows = await ports.readModels.page(worklistModel, { partition, after, limit: AT_ONCE });
    const ids = rows.flatMap((row) => {
      const entry = entryOf(row);
      return entry && isWithin(entry, days) ? [entry.encounter_id] : [];
    });
    const histories = await Promise.all(ids.map((id) => stepsOf(ports, workspace, id, at, remembered)));
    for (const [index, steps] of histories.entries()) {
      const id = ids[index] as string;
      encounters += 1;
      if (steps === undefined) unreadable += 1;
      else counts.add(id, defectsOf(id, steps, at));
    }
    if (rows.length < AT_ONCE) break;
    after = rows.at(-1)?.order ?? after;
    yield { encounters, total };
  }
  yield { encounters, total, scorecard: { encounters, unreadable, rows: counts.rows() } };
}

/** Undefined where they cannot be read. */
async function stepsOf(
  ports: QueryPorts,
  workspace: string,
  id: string,
  at: number,
  remembered: RememberedSteps,
): Promise<Step[] | undefined> {
  try {
    const history = new BillingHistory(ports, workspace, at, remembered);
    return await history.steps(id, { isPresent: false });
  } catch (error) {
    if (error instanceof UnreadableError) return undefined;
    throw error;
  }
}
