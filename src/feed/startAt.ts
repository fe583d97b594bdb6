import {
  HOURS_PARTITION,
  hourOf,
  TIMELINE_HEAD,
  type TimelineHour,
  timelineModel,
} from '../../projections/timeline.ts';
import { ServiceError } from '../errors.ts';
import type { Position } from '../events/event.ts';
import type { ReadModels } from '../ports/readModels.ts';

/**
 * A place in the log shortly before the first event that was recorded at `time` (milliseconds since 1970) or later; the
 * beginning, when the read models are away.
 */
export async function startAt(readModels: ReadModels, time: number): Promise<Position> {
  try {
    const after = hourOf(time) - 1;
    const [hour] = await readModels.page(timelineModel, { partition: HOURS_PARTITION, after, limit: 1 });
    if (hour) return (hour.body as TimelineHour).after;
    // The read model may lag behind the log, but what it holds is all earlier.
    const [head] = await readModels.load(timelineModel, [TIMELINE_HEAD]);
    return head?.position ?? 0;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'unavailable') return 0;
    throw error;
  }
}
