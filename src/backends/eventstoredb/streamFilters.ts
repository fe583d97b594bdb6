import type { Filter } from '@eventstore/db-client';

/** Which streams or types are meant: those that begin so, or those that match. */
type Names = { prefixes: string[] } | { regex: string };

/** Events in streams of these names; the server tells how far it has looked after so many events that are none of them. */
export function streamNames(names: Names, maxSearchWindow?: number): Filter {
  return filter('streamName', names, maxSearchWindow);
}

/** Events of types that begin so. */
export function eventTypes(prefixes: string[], maxSearchWindow?: number): Filter {
  return filter('eventType', { prefixes }, maxSearchWindow);
}

/** Streams that are not the server's own. */
export const userStreams = { regex: '^[^$]' };

function filter(filterOn: Filter['filterOn'], names: Names, maxSearchWindow: number | undefined): Filter {
  const window = maxSearchWindow === undefined ? {} : { maxSearchWindow };
  return { filterOn, checkpointInterval: 1, ...window, ...names } as Filter;
}
