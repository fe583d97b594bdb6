import type { Verified } from '../../evidence/verifyWorkspace.ts';
import { counted } from '../output.ts';

/** Number of erasures that are listed; the rest are counted. */
const NAMED = 20;

/** Returns lines that say how many events were erased, and by whom, when and why. */
export function erasureLines({ count: events, told }: Verified['erased']): string[] {
  if (events === 0) return [];
  const named = told
    .slice(-NAMED)
    .map(
      ({ stream, versions, reason, principal, erased_at }) =>
        `  ${erased_at} ${stream}, ${counted(versions, 'version')}, by ${principal.type} ${principal.id}: ${reason}`,
    );
  const left = told.length - named.length;
  return [
    `${counted(events, 'event')} erased, as tombstones say:`,
    ...(left > 0 ? [`  ${counted(left, 'earlier erasure')}`] : []),
    ...named,
  ];
}

/** Says what the stores' files still contain of what was erased; `isAsked`: the server was asked to scavenge. */
export function leftInFilesLine(scavenges: boolean, isAsked: boolean): string {
  if (!scavenges) return 'Nothing of it is left in the files of the stores.';
  if (isAsked)
    return 'The event log has begun to scavenge, on every node: when all are through, nothing of it is left in its files.';
  return (
    'The files of the event log hold it until the next scavenge, of each node of a cluster by itself: run the command again with ' +
    '--scavenge, which starts it on all of them, or on each: curl -X POST -u USER https://NODE:2113/admin/scavenge'
  );
}
