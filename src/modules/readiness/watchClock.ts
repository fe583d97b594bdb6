import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { readinessModel } from '../../../projections/readinessModel.ts';
import type { ModelName } from '../../storage/readModels.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import { countDay } from './countDay.ts';
import { dayOf } from './rules/faults.ts';
import type { Trigger } from './trigger.ts';
import { AT_ONCE, type WorklistWork } from './WorklistWork.ts';
import { entryOf, worklistModel } from './worklistEntry.ts';
import { flipsList, MINUTE_MS, minuteOf, worklistPartition } from './worklistLists.ts';

const LOOK_MS = 1_000;
/** Where more minutes than these have passed, all encounters are gone through instead: a clock may be decades off. */
const MOST_MINUTES = 1_440;
const BY_ITSELF: Trigger = { position: Number.POSITIVE_INFINITY };

/**
 * The minute, counted from 1970, up to which findings that begin or end by themselves were looked at; and the day (UTC)
 * to be counted once it has ended, by default the day of that minute.
 */
const clockModel = readinessModel as ModelName<{ minute: number; day?: string }>;
const CLOCK = 'clock';

/**
 * Evaluates encounters again when one of their findings begins or ends by itself, and counts them when a day ends,
 * until the signal. Rejects with `unavailable`.
 */
export async function watchClock(ports: QueryPorts, work: WorklistWork, signal: AbortSignal): Promise<void> {
  const [saved] = await ports.readModels.load(clockModel, [CLOCK]);
  let place = saved?.position ?? 0;
  let minute = saved?.body.minute ?? minuteOf(Date.now());
  let day = saved?.body.day ?? dayOfMinute(minute);
  while (!signal.aborted) {
    const now = minuteOf(Date.now());
    const first = minute;
    const today = dayOfMinute(now);
    const isCounted = day < today && (await countDay(ports, work.workspaces, day));
    if (isCounted || day > today) day = today;
    // Where the clock was set back, minutes are repeated.
    minute = Math.min(minute, now);
    if (now - minute > MOST_MINUTES) {
      await evaluateFlipped(ports, work, undefined);
      minute = now;
    }
    // What was evaluated before the end of a minute may be written after it: each is looked at again with the next one.
    if (minute < now) minute -= 1;
    for (; minute < now && !signal.aborted; minute += 1) await evaluateFlipped(ports, work, minute);
    await evaluateFlipped(ports, work, minute);
    if (isCounted || minute !== first || place === 0) {
      place += 1;
      await work.write([{ id: CLOCK, partition: CLOCK, order: 0, position: place, body: { minute, day } }]);
    }
    await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Returns the day (UTC) of a minute. */
function dayOfMinute(minute: number): string {
  return dayOf(new Date(minute * MINUTE_MS).toISOString());
}

/** Evaluates what has changed by itself up to now: in a minute, or ever. */
async function evaluateFlipped(
  { readModels }: QueryPorts,
  work: WorklistWork,
  minute: number | undefined,
): Promise<void> {
  const list = minute === undefined ? {} : { list: flipsList(minute) };
  for (const workspace of work.workspaces) {
    const query = { partition: worklistPartition(workspace), ...list, limit: AT_ONCE };
    for (let after = -1; ; ) {
      const rows = await readModels.page(worklistModel, { ...query, after });
      const now = Date.now();
      const flipped = rows.flatMap((row) => {
        const entry = entryOf(row);
        return entry?.flips_at !== undefined && entry.flips_at <= now
          ? [[entry.encounter_id, { order: row.order, trigger: BY_ITSELF }] as const]
          : [];
      });
      if (flipped.length > 0) await work.evaluate(workspace, new Map(flipped), 0);
      if (rows.length < AT_ONCE) break;
      after = rows.at(-1)?.order ?? after;
      await nextTurn();
    }
  }
}
