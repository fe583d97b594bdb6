import type { Position } from '../../domain/events/event.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { HeadTarget } from '../../storage/headTarget.ts';
import type { PublicKeys } from '../integrity/PublicKeys.ts';
import { type ErasureNotice, erasureNoticeSchema, NOTICES, type NoticedErasure } from './erasureNotice.ts';

/** Which log was copied, and up to where. */
interface Copy {
  log: string;
  last_position: Position;
  created_at: string;
}

/** What notices say about erasures after the end of a copy of the log. */
export interface LaterErasures {
  erasures: NoticedErasure[];
  /** No erasure completed by then is missing; ISO 8601, UTC. */
  asOf: string;
  /** A line for each notice that is missing or invalid. */
  problems: string[];
}

/**
 * Reads what a place holds about erasures after the end of a copy of a log. Rejects with `conflict` when only the place itself
 * can read it, and with `unavailable`.
 */
export async function readNotices(
  target: HeadTarget,
  copy: Copy,
  publicKeys: PublicKeys,
): Promise<LaterErasures> {
  const { place } = target;
  if (target.kept === undefined) {
    const message = `Notices of erasures cannot be read from ${place}. Copy them to a folder and specify that folder.`;
    throw new ServiceError('conflict', message);
  }
  const problems: string[] = [];
  const notices: ErasureNotice[] = [];
  let count = 0;
  for await (const { name, text } of target.kept(NOTICES)) {
    count += 1;
    const notice = parse(text);
    // What it reports is in the copy, so whether it is true of this log no longer matters.
    if (notice && notice.log === copy.log && notice.until <= copy.last_position) continue;
    const problem = notice ? problemOf(notice, copy, publicKeys) : 'it is not a notice of erasures';
    if (notice === undefined || problem)
      problems.push(`The notice ${name} in ${place} is not valid: ${problem}.`);
    else notices.push(notice);
  }
  if (count === 0) problems.push(`No notices of erasures were found in ${place}.`);
  let asOf = copy.created_at;
  let until = copy.last_position;
  for (const notice of notices.toSorted((a, b) => a.after - b.after || a.until - b.until)) {
    if (notice.after > until)
      problems.push(
        `A notice of erasures is missing in ${place}: the one for positions ${until} to ${notice.after}.`,
      );
    until = Math.max(until, notice.until);
    if (notice.as_of > asOf) asOf = notice.as_of;
  }
  return { erasures: notices.flatMap((notice) => notice.erasures), asOf, problems };
}

function problemOf(notice: ErasureNotice, { log }: Copy, publicKeys: PublicKeys): string | undefined {
  return notice.log === log ? publicKeys.problemAt(notice, notice.as_of) : 'it belongs to another event log';
}

function parse(text: string): ErasureNotice | undefined {
  try {
    return erasureNoticeSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
