import type { Verified } from '../../modules/integrity/verifyWorkspace.ts';
import { counted } from '../lib/output.ts';

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
