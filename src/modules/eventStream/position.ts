import {
  HOURS_PARTITION,
  hourOf,
  TIMELINE_HEAD,
  type TimelineHour,
  timelineModel,
} from '../../../projections/timeline.ts';
import type { Position } from '../../domain/events/event.ts';
import { validationError } from '../../domain/records/schema/validation.ts';
import { ServiceError } from '../../platform/errors.ts';
import { isUnavailable } from '../../platform/retry.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';

/** Digits of the largest safe integer. */
const DIGITS = 16;

/** Formats a position for callers: of fixed length, so that it also sorts as text. */
export function formatPosition(position: Position): string {
  return String(position).padStart(DIGITS, '0');
}

/** Parses a position sent back by a caller; undefined when it is invalid. */
export function parsePosition(text: string): Position | undefined {
  if (!/^\d{1,16}$/.test(text)) return undefined;
  const position = Number(text);
  return Number.isSafeInteger(position) ? position : undefined;
}

/** The error for a position that the log no longer has; `last` is the last one before it that still exists. */
export function positionGone(last: Position): ServiceError {
  const message = `The event log was reset to an earlier state and no longer contains this position. The last position before it is ${formatPosition(last)}.`;
  return new ServiceError('position_gone', message, { lastPosition: last });
}

/**
 * Rejects with `position_gone` when a reader was further than the log is, or continues from what a restore has left behind; with
 * `validation_failed`, naming `field`, when a position that it sent is not the log's for another reason.
 */
export async function requirePlace(eventLog: EventLog, position: Position, field: string): Promise<void> {
  const last = await eventLog.lastBefore(position);
  if (last !== undefined) throw positionGone(last);
  await requirePosition(eventLog, position, field);
}

/** Rejects with `validation_failed`, naming `field`, when a position sent by a caller is not the log's. */
export async function requirePosition(eventLog: EventLog, position: Position, field: string): Promise<void> {
  if (await eventLog.hasPosition(position)) return;
  throw validationError([{ field, message: 'must be the position of an event in this log, or 0' }]);
}

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
    if (isUnavailable(error)) return 0;
    throw error;
  }
}
