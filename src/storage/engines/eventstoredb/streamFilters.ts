import type { Filter } from '@eventstore/db-client';

/** Which streams or types are meant: those with these prefixes, or those that match. */
type Names = { prefixes: string[] } | { regex: string };

/** Filters events in streams with these names; the server reports its progress after `maxSearchWindow` other events. */
export function streamNames(names: Names, maxSearchWindow?: number): Filter {
  return filter('streamName', names, maxSearchWindow);
}

/** Filters events whose types have these prefixes. */
export function eventTypes(prefixes: string[], maxSearchWindow?: number): Filter {
  return filter('eventType', { prefixes }, maxSearchWindow);
}

/** Streams other than the server's own. */
export const userStreams = { regex: '^[^$]' };

function filter(filterOn: Filter['filterOn'], names: Names, maxSearchWindow: number | undefined): Filter {
  const window = maxSearchWindow === undefined ? {} : { maxSearchWindow };
  return { filterOn, checkpointInterval: 1, ...window, ...names } as Filter;
}
