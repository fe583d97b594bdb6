import type { Principal } from '../../../domain/events/event.ts';

/** Who answered a finding, and when: ISO 8601, UTC. */
interface Answered {
  at: string;
  principal: Principal;
}

/** An answer that holds for one version of the record at fault, up to the end of a day (UTC): `2026-03-14`. */
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

/** What holds of the answers to a finding, for the version of the record that was evaluated. */
export interface Answer {
  /** When it ends to be accepted, in milliseconds since 1970. */
  acceptedUntil?: number;
  snoozedUntil?: number;
  assignedTo?: string;
  isNoted?: true;
}

const DAY_MS = 86_400_000;

/** Returns the first moment after a day (UTC), in milliseconds since 1970. */
export function endOfDay(day: string): number {
  return Date.parse(day) + DAY_MS;
}

/** Returns the day (UTC) that ends at a moment in milliseconds since 1970. */
export function dayEndingAt(end: number): string {
  return new Date(end - DAY_MS).toISOString().slice(0, 10);
}

/** Returns what holds of answers for a version of the record at fault; undefined where nothing does. */
export function answerFor(
  { accepted, snoozed, assigned, noted }: FindingAnswers,
  version: number,
): Answer | undefined {
  const answer: Answer = {
    ...(accepted?.version === version && { acceptedUntil: endOfDay(accepted.until) }),
    ...(snoozed?.version === version && { snoozedUntil: endOfDay(snoozed.until) }),
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
