import { type OddEvent, type OddEvents, type OddityKind, oddityKinds } from './OddityCheck.ts';
import type { Difference, Verified } from './verifyWorkspace.ts';

/** The findings of a verification, a line each. */
export interface VerifiedTexts {
  /** What does not hold; empty: everything holds. */
  problems: string[];
  /** What proves nothing by itself. */
  remarks: string[];
}

const said: Record<Difference['what'], string> = {
  changed: 'was changed',
  unreadable: 'cannot be read: its bytes were changed',
  misplaced:
    'was not written by the service: its metadata name another workspace than the one it is stored for',
  missing: 'is missing',
  added: 'was added later',
};

const odd: Record<OddityKind, (event: OddEvent) => string> = {
  olderThanHead: ({ recordedAt, notBefore }) =>
    `claims to have been recorded at ${recordedAt}, before the signed head's last event (${notBefore}), but was not in the head`,
  repeatedId: () => 'has the id of an earlier event',
  olderThanBefore: ({ recordedAt, notBefore }) =>
    `claims to have been recorded at ${recordedAt}, before the preceding event (${notBefore})`,
};

/** Describes the findings of a verification. Clocks are set back, and leaders change: a decreasing time is a remark. */
export function verifiedTexts({ difference, headProblem, oddities }: Verified): VerifiedTexts {
  if (difference) return { problems: [describe(difference)], remarks: [] };
  if (headProblem) {
    const { head, problem } = headProblem;
    const text = `The log does not match the head that was signed at ${head.created_at}: ${problem}.`;
    return { problems: [text], remarks: [] };
  }
  const problems: string[] = [];
  const remarks: string[] = [];
  for (const kind of oddityKinds) {
    const lines = describeOdd(kind, oddities[kind]);
    const [first] = lines;
    if (kind !== 'olderThanBefore') problems.push(...lines);
    else if (first)
      remarks.push(
        `Events whose times go backwards, as happens when a clock is set back or the leader changes: ${count(oddities[kind].count)}. The first: ${first}`,
      );
  }
  return { problems, remarks };
}

function describe({ what, position, stream, version, eventId }: Difference): string {
  const place = stream === undefined ? '' : `stream ${stream}, version ${version}, `;
  return `The event at position ${position} ${said[what]}: ${place}event ${eventId}.`;
}

/** Returns a line for each odd event collected, and one for the number of others. */
function describeOdd(kind: OddityKind, { count: all, first }: OddEvents): string[] {
  const lines = first.map((event) => {
    const { position, stream, revision, id } = event;
    return `The event at position ${position} ${odd[kind](event)}: stream ${stream}, version ${revision + 1}, event ${id}.`;
  });
  return all === first.length
    ? lines
    : [...lines, `The same applies to ${count(all - first.length)} more events.`];
}

function count(things: number): string {
  return things.toLocaleString('en');
}
