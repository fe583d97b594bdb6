import { ServiceError } from '../platform/errors.ts';

/**
 * What this program stores in the event log, the state store, the read models and the documents. Raise it together with the
 * version in package.json when an earlier program would misread it or ignore it: a new type of event, a field that changes what
 * others mean, another layout. `docs/operate/upgrade.md` lists the format of each version.
 */
export const STORE_FORMAT = 3;

/**
 * Returns whether a store is still of an earlier format than `STORE_FORMAT`; 0: it does not name its format. Throws
 * `internal`, whose `problem` names the `place`, when it is of a later one: nothing may then be read from it or written to it.
 */
export function isEarlierFormat(place: string, format: number): boolean {
  if (format <= STORE_FORMAT) return format < STORE_FORMAT;
  throw new ServiceError('internal', 'A store was written by a newer version of Chartledger.', {
    problem: `${place} is of format ${format}, of a newer version of Chartledger; this version knows formats up to ${STORE_FORMAT}. Start the newer version, or restore a backup that this version can read.`,
  });
}
