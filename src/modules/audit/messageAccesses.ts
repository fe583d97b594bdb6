import type { AccessRecorded } from './recordAccess.ts';

/** Number of records that one entry names: however long their ids, it is no larger than an event may be. */
const MOST_THINGS = 400;

type Records = readonly { kind: string; id: string }[];
type Accesses = [AccessRecorded, ...AccessRecorded[]];

/**
 * Returns the entries for viewing an EMR message: the records that it is about were shown with it; a single entry, unless these
 * are many. `isRaw`: in its original form, not only its outcome.
 */
export function messageAccesses({ id, about }: { id: string; about: Records }, isRaw = false): Accesses {
  return accessesTo({ message: id, ...(isRaw && { raw: true }) }, about);
}

/** Returns the entries for a comparison of mappings: messages of a source were read, as requested, and these records shown. */
export function mappingAccesses(query: Record<string, unknown>, records: Records): Accesses {
  return accessesTo(query, records);
}

function accessesTo(query: Record<string, unknown>, records: Records): Accesses {
  const accessTo = (part: Records): AccessRecorded => ({
    action: 'message.read',
    query,
    shown: {
      ...{ ranges: [], count: part.length },
      things: part.map((one) => ({ kind: one.kind, record_id: one.id })),
    },
  });
  const others: AccessRecorded[] = [];
  for (let at = MOST_THINGS; at < records.length; at += MOST_THINGS) {
    others.push(accessTo(records.slice(at, at + MOST_THINGS)));
  }
  return [accessTo(records.slice(0, MOST_THINGS)), ...others];
}
