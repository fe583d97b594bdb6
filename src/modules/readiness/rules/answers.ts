import type { Principal } from '../../../domain/events/event.ts';
import { startOfDayIn } from '../../../domain/records/schema/timeZones.ts';

/** Who answered a finding, and when: ISO 8601, UTC. */
interface Answered {
  at: string;
  principal: Principal;
}

/** An answer that holds for one version of the record at fault, up to the end of a day of the workspace: `2026-03-14`. */
interface Limited extends Answered {
  version: number;
  until: string;
}

/** What was last answered to what a rule finds in a record, for one encounter. */
export interface FindingAnswers {
  /** It no longer blocks. */
  accepted?: Limited & { reason: string };
  /** Nobody has to look at it before then. */
  snoozed?: Limited;
  assigned?: Answered & { to: string };
  noted?: Answered & { version: number; note: string };
}

/** By their `answerKey`. */
export type AllAnswers = ReadonlyMap<string, FindingAnswers>;

/** By this the findings of a rule in a record are known to answers. */
export function answerKey(rule: string, { kind, id }: { kind: string; id: string }): string {
  return JSON.stringify([rule, kind, id]);
}

/** A last day, such as `2026-03-14`, and when it ends in the workspace, in milliseconds since 1970. */
interface LastDay {
  day: string;
  end: number;
}

/** What holds of the answers to a finding, for the version of the record that was evaluated. */
export interface Answer {
  acceptedUntil?: LastDay;
  snoozedUntil?: LastDay;
  assignedTo?: string;
  isNoted?: true;
}

/**
 * Returns what holds of answers for a version of the record at fault, in a workspace of this time zone (IANA); undefined where
 * nothing does.
 */
export function answerFor(
  { accepted, snoozed, assigned, noted }: FindingAnswers,
  version: number,
  timeZone: string,
): Answer | undefined {
  const lastDay = ({ until: day }: Limited) => ({ day, end: startOfDayIn(day, timeZone, 1) });
  const answer: Answer = {
    ...(accepted?.version === version && { acceptedUntil: lastDay(accepted) }),
    ...(snoozed?.version === version && { snoozedUntil: lastDay(snoozed) }),
    ...(assigned && { assignedTo: assigned.to }),
    ...(noted?.version === version && { isNoted: true }),
  };
  return Object.keys(answer).length > 0 ? answer : undefined;
}

/** Who gave answers. */
export function answerPrincipals(answers: AllAnswers = new Map()): Principal[] {
  return [...answers.values()].flatMap(({ accepted, snoozed, assigned, noted }) =>
    [accepted, snoozed, assigned, noted].flatMap((one) => one?.principal ?? []),
  );
}
