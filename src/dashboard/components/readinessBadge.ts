import type { ReadinessState } from '../../modules/readiness/rules/findings.ts';
import type { Html } from './html.ts';
import { badge } from './text.ts';

const badges: Record<ReadinessState, Html> = {
  ready: badge('ready', 'good'),
  blocked: badge('blocked', 'bad'),
  not_completed: badge('not completed', 'neutral'),
  voided: badge('void', 'neutral'),
};

/** Returns an encounter's state; undefined where that is not known. */
export function readinessBadge(state: ReadinessState | undefined): Html | undefined {
  return state && badges[state];
}
