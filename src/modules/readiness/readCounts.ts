import type { ReadModels } from '../../storage/readModels.ts';
import { add, daysIn, type Tally, type TallyFilter, talliesModel, tallyId } from './tally.ts';
import { isOfDays, valueFilters, type WorklistSelection } from './walkWorklist.ts';

/**
 * Resolves with how many encounters there are in each state, and by rule, whatever state and rule are selected;
 * undefined where no counts are kept for the rest of the selection: they are kept for one payer, one facility, one
 * provider, or for days, not for several of these together. Rejects with `unavailable`.
 */
export async function readCounts(
  readModels: ReadModels,
  workspace: string,
  selection: WorklistSelection,
): Promise<Tally | undefined> {
  const filters = valueFilters(selection).filter((one): one is TallyFilter => one.by !== 'rule');
  const [filter] = filters;
  if (filters.length + Number(isOfDays(selection)) > 1) return undefined;
  if (!isOfDays(selection)) {
    const [row] = await readModels.load(talliesModel, [tallyId(workspace, filter)]);
    return row?.body ?? { states: {}, rules: {} };
  }
  const sum: Tally = { states: {}, rules: {} };
  for await (const { tally } of daysIn(readModels, workspace, selection)) add(sum, tally);
  return sum;
}
