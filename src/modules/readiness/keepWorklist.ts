import { setTimeout as sleep } from 'node:timers/promises';
import { readinessModel } from '../../../projections/readinessModel.ts';
import { recordIdOf } from '../../domain/events/streamNames.ts';
import type { FollowOptions } from '../../storage/eventLog.ts';
import type { Row } from '../../storage/readModels.ts';
import type { SameLogPorts } from '../projections/beginIfOther.ts';
import { untilOutdated } from '../projections/outdated.ts';
import { resumeAfter } from '../projections/resumeAfter.ts';
import { whileSameLog } from '../projections/whileSameLog.ts';
import { allRows } from '../records/queries/allRows.ts';
import { announceRules } from './announceRules.ts';
import { afterStep, doneRow, type FanOut, fanOutsModel, fanOutsPartition, nextOf } from './fanOut.ts';
import { followRecords } from './followRecords.ts';
import { AT_ONCE, WorklistWork } from './WorklistWork.ts';
import { watchClock } from './watchClock.ts';

const IDLE_MS = 50;

/**
 * Keeps the readiness worklist up to date with the log, until the signal; only one process does so at a time. Rejects
 * when a store cannot be reached, the log is another one, or the worklist is outdated; calling it again continues from where it was, or
 * begins it anew.
 */
export async function keepWorklist(
  ports: SameLogPorts & Pick<FollowOptions, 'gather'>,
  signal: AbortSignal,
): Promise<void> {
  await resumeAfter(readinessModel, ports);
  const work = await WorklistWork.open(ports);
  // An interrupted write may have brought it further.
  const after = await ports.readModels.checkpoint(readinessModel);
  const fanOuts: Row<FanOut>[] = [];
  for (const workspace of work.workspaces) {
    for await (const row of allRows(ports.readModels, fanOutsModel, fanOutsPartition(workspace))) {
      if ('lists' in row.body) fanOuts.push(row as Row<FanOut>);
    }
  }
  const end = new AbortController();
  const until = AbortSignal.any([signal, end.signal]);
  const options = { after, gather: ports.gather, signal: until };
  const tasks = [
    followRecords(ports, work, options, (row) => fanOuts.push(row)),
    goThrough(ports, work, fanOuts, until),
    watchClock(ports, work, until),
    whileSameLog(ports.eventLog, until),
    untilOutdated(ports.readModels, readinessModel, until),
  ];
  try {
    await Promise.all(tasks);
  } finally {
    end.abort();
    await Promise.allSettled(tasks);
  }
}

/** Goes through what is under way, a step of each in turn, until the signal. */
async function goThrough(
  ports: SameLogPorts,
  work: WorklistWork,
  fanOuts: Row<FanOut>[],
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const row = fanOuts.shift();
    if (row === undefined) {
      await sleep(IDLE_MS, undefined, { signal }).catch(() => undefined);
      continue;
    }
    if (row.body.lists.length === 0) {
      await announceRules(ports, row.body);
      await work.write([doneRow(row)]);
      continue;
    }
    const next = await nextOf(ports.readModels, row.body, AT_ONCE);
    const after = afterStep(row, next, AT_ONCE);
    fanOuts.push(after);
    // On to the next list.
    if (next.length === 0) continue;
    const { workspace, trigger, isQuiet } = row.body;
    const encounters = new Map(next.map(({ id, order }) => [recordIdOf(id), { order, trigger }]));
    await work.evaluate(workspace, encounters, row.order, { beside: [after], isQuiet });
  }
}
