import type { Principal } from '../../domain/events/event.ts';
import type { Answer, FindingAnswers } from '../../modules/readiness/rules/answers.ts';
import type { WorklistFinding } from '../../modules/readiness/worklistModel.ts';
import type { PrincipalNames } from '../../modules/records/queries/principalNames.ts';
import { type Html, type HtmlValue, html } from './page.ts';
import { who } from './people.ts';
import { badge, bdi, day, dayText, time } from './text.ts';

/**
 * Returns the last answers to a finding, each with who gave it; those that do not hold at a moment (milliseconds since 1970) say so.
 * `holding`: what holds for the version of the record at fault. The names of the principals must have been learnt.
 */
export function answerList(
  answers: FindingAnswers | undefined,
  holding: Answer | undefined,
  at: number,
  names: PrincipalNames,
): Html | undefined {
  if (answers === undefined) return undefined;
  const { accepted, snoozed, assigned, noted } = answers;
  const by = ({ at, principal }: { at: string; principal: Principal }) =>
    html`<span class="muted">${time(at)}, by ${who({ ...principal, name: names.nameOf(principal) ?? null })}</span>`;
  const over = (last: Answer['acceptedUntil']) =>
    !isHolding(last, at) && html` ${badge('no longer holds', 'neutral')}`;
  const lines: HtmlValue[] = [
    accepted &&
      html`Accepted until ${day(accepted.until)}: ${bdi(accepted.reason)}${over(holding?.acceptedUntil)} ${by(accepted)}`,
    snoozed && html`Snoozed until ${day(snoozed.until)}${over(holding?.snoozedUntil)} ${by(snoozed)}`,
    assigned && html`Assigned to ${bdi(assigned.to)} ${by(assigned)}`,
    noted && html`Note: ${bdi(noted.note)} ${by(noted)}`,
  ];
  const given = lines.filter((line) => line !== undefined);
  return given.length === 0
    ? undefined
    : html`<ul class="plain" aria-label="Answers">${given.map((line) => html`<li>${line}</li>`)}</ul>`;
}

/** Whether an answer holds at a moment, in milliseconds since 1970. */
export function isHolding(last: Answer['acceptedUntil'], at: number): boolean {
  return last !== undefined && last.end > at;
}

/** Returns what holds of the answers to a finding, in a few words each. */
export function answerBadges({
  accepted_until: accepted,
  snoozed_until: snoozed,
  assigned_to: assigned,
  is_noted: isNoted,
}: WorklistFinding): Html {
  return html`${accepted !== undefined && html` ${badge(`accepted until ${dayText(accepted)}`, 'good')}`}${
    snoozed !== undefined && html` ${badge(`snoozed until ${dayText(snoozed)}`, 'neutral')}`
  }${assigned !== undefined && html` ${badge(`assigned to ${assigned}`, 'neutral')}`}${isNoted && html` ${badge('noted', 'neutral')}`}`;
}
