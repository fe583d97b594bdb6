import { createHash } from 'node:crypto';
import { readinessModel } from '../../../projections/readinessModel.ts';
import type { RuleSettings } from './rules/ruleSettings.ts';

/**
 * Returns the version of the rules applied: the same text for as long as neither the rules nor a workspace's settings
 * for them change.
 */
export function rulesVersion(settings: RuleSettings): string {
  const { choices, filingLimits, requiredDocuments, taxonomySets = 0 } = settings;
  const sorted = <Value>(map: ReadonlyMap<string, Value>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = [
    ...[sorted(choices), filingLimits.default ?? null, sorted(filingLimits.byPayer)],
    ...[sorted(requiredDocuments), taxonomySets],
  ];
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 12);
  return `${readinessModel}.${digest}`;
}
