import type { ReadModels, Row } from '../../storage/readModels.ts';
import { dayOf } from './rules/faults.ts';
import { type ReadinessState, readinessStates } from './rules/findings.ts';
import { daysIn } from './tally.ts';
import { entryOf, type WorklistEntry, worklistModel } from './worklistEntry.ts';
import { filtersOf, listOf, type WorklistFilter, worklistPartition } from './worklistLists.ts';

/** Which encounters are wanted: those that match all of it. */
export interface WorklistSelection {
  state?: ReadinessState | undefined;
  rule?: string | undefined;
  payer?: string | undefined;
  facility?: string | undefined;
  provider?: string | undefined;
  /** First and last day of service, such as `2026-03-14`; as the date was sent. */
  from?: string | undefined;
  to?: string | undefined;
}

/** An encounter that the walk came to. */
interface Step {
  entry: WorklistEntry;
  isWanted: boolean;
  /** Its day as a number where the walk goes by days; otherwise 0. */
  day: number;
  order: number;
}

/** Read at once from each list. */
const CHUNK = 200;

/** Returns the filters by one value, usually the most selective first. */
export function valueFilters({ rule, payer, facility, provider }: WorklistSelection): WorklistFilter[] {
  const all: { by: WorklistFilter['by']; value: string | undefined }[] = [
    { by: 'rule', value: rule },
    { by: 'provider', value: provider },
    { by: 'facility', value: facility },
    { by: 'payer', value: payer },
  ];
  return all.filter((one): one is WorklistFilter => one.value !== undefined);
}

/** Whether days of service are asked for. */
export function isOfDays({ from, to }: WorklistSelection): boolean {
  return from !== undefined || to !== undefined;
}

/**
 * Yields the encounters on the list that leaves few of them, from after a place on; by days where only days are asked
 * for.
 */
export async function* walkWorklist(
  readModels: ReadModels,
  workspace: string,
  selection: WorklistSelection,
  after: Pick<Step, 'day' | 'order'> = { day: 0, order: -1 },
): AsyncGenerator<Step> {
  const [filter] = valueFilters(selection);
  if (filter !== undefined || !isOfDays(selection)) {
    yield* alongLists(readModels, workspace, selection, filter, { ...after, day: 0 });
    return;
  }
  for await (const { day, value } of daysIn(readModels, workspace, selection, after.day)) {
    const order = day === after.day ? after.order : -1;
    yield* alongLists(readModels, workspace, selection, { by: 'day', value }, { day, order });
  }
}

/** Goes along one list for each state that is wanted, all in the order of creation. */
async function* alongLists(
  readModels: ReadModels,
  workspace: string,
  selection: WorklistSelection,
  filter: WorklistFilter | undefined,
  { day, order: after }: Pick<Step, 'day' | 'order'>,
): AsyncGenerator<Step> {
  const states = selection.state === undefined ? readinessStates : [selection.state];
  const partition = worklistPartition(workspace);
  for (let behind = after; ; ) {
    const pages = await Promise.all(
      states.map((state) =>
        readModels.page(worklistModel, {
          partition,
          list: listOf(state, filter),
          after: behind,
          limit: CHUNK,
        }),
      ),
    );
    const rows: Row[] = pages.flat().sort((a, b) => a.order - b.order);
    // After the end of a full page, its list may continue before what others have.
    const ends = pages.flatMap((page) => (page.length === CHUNK ? [page.at(-1)?.order ?? 0] : []));
    const end = Math.min(Number.POSITIVE_INFINITY, ...ends);
    for (const row of rows) {
      const entry = entryOf(row);
      if (row.order > end || entry === undefined) continue;
      yield { entry, isWanted: isWanted(entry, selection), day, order: row.order };
    }
    if (ends.length === 0) return;
    behind = end;
  }
}

function isWanted(entry: WorklistEntry, selection: WorklistSelection): boolean {
  const { from = '', to = '9999-12-31' } = selection;
  const day = entry.date_of_service && dayOf(entry.date_of_service);
  const isIn = !isOfDays(selection) || (day !== undefined && day >= from && day <= to);
  const own = filtersOf(entry);
  return (
    isIn &&
    valueFilters(selection).every(({ by, value }) => own.some((one) => one.by === by && one.value === value))
  );
}
