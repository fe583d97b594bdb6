import type { Position } from '../src/domain/events/event.ts';
import { RECORD_ERASED } from '../src/domain/events/payloads.ts';
import { addedKinds, catalog } from '../src/domain/records/catalog.ts';
import { documentEventTypes } from '../src/domain/records/document.ts';
import { modelName, type Projection } from './projection.ts';

const HOUR_MS = 3_600_000;

/** The partition of the hours; an hour's order is its number since 1970. */
export const HOURS_PARTITION = 'hours';

/** Id of the row that says how far the hours extend. */
export const TIMELINE_HEAD = 'head';

/** Body of an hour's row: everything up to `after` was recorded in earlier hours. */
export interface TimelineHour {
  after: Position;
}

/** Body of the row that says how far the hours extend. */
interface TimelineHead {
  hour: number;
}

/** Returns the number of the hour of a moment, given in milliseconds since 1970. */
export function hourOf(time: number): number {
  return Math.floor(time / HOUR_MS);
}

/**
 * Where in the log each hour begins, over the events of records and documents of all workspaces, so that a reader who starts at a
 * time need not begin at the first event. If a clock goes back, its events count towards the latest hour.
 */
export const timeline: Projection<TimelineHead | TimelineHour> = {
  name: 'timeline',
  purpose: 'Reading the event stream from a time on',
  version: 3 + addedKinds,
  eventTypes: [...catalog.map(({ eventType }) => eventType), RECORD_ERASED, ...documentEventTypes],
  rowId: () => TIMELINE_HEAD,
  evolve(row, { recordedAt, position }) {
    const before = (row?.body as TimelineHead | undefined)?.hour;
    const hour = Math.max(before ?? 0, hourOf(Date.parse(recordedAt)));
    const head = { id: TIMELINE_HEAD, partition: TIMELINE_HEAD, order: 0, position, body: { hour } };
    if (hour === before) return head;
    const body = { after: row?.position ?? 0 };
    return [head, { id: `hour-${hour}`, partition: HOURS_PARTITION, order: hour, position, body }];
  },
};

export const timelineModel = modelName(timeline);
