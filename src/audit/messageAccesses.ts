import type { AccessRecorded } from './recordAccess.ts';

/** Records that one entry names: however long their ids are, it is no larger than an event may be. */
const MOST_THINGS = 400;

type Records = readonly { kind: string; id: string }[];
type Accesses = [AccessRecorded, ...AccessRecorded[]];

/**
 * The entries of a look at a message of an EMR: the records of which it tells were shown with it; one, unless these are many. `isRaw`: as it
 * came, and not only what became of it.
 */
export function messageAccesses({ id, about }: { id: string; about: Records }, isRaw = false): Accesses {
  return accessesTo({ message: id, ...(isRaw && { raw: true }) }, about);
}

/** The entries of a comparison of mappings: messages of a source were read, as it was asked, and these records shown. */
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
