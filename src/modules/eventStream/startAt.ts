import {
  HOURS_PARTITION,
  hourOf,
  TIMELINE_HEAD,
  type TimelineHour,
  timelineModel,
} from '../../../projections/timeline.ts';
import type { Position } from '../../domain/events/event.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { ReadModels } from '../../storage/readModels.ts';

/**
 * Returns a position shortly before the first event recorded at or after `time` (milliseconds since 1970); the beginning when the
 * read models are unavailable.
 */
export async function startAt(readModels: ReadModels, time: number): Promise<Position> {
  try {
    const after = hourOf(time) - 1;
    const [hour] = await readModels.page(timelineModel, { partition: HOURS_PARTITION, after, limit: 1 });
    if (hour) return (hour.body as TimelineHour).after;
    // The read model may lag behind the log, but everything it holds is earlier.
    const [head] = await readModels.load(timelineModel, [TIMELINE_HEAD]);
    return head?.position ?? 0;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'unavailable') return 0;
    throw error;
  }
}
