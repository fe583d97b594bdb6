import { documentsModel } from '../../../projections/documents.ts';
import { recordsModel } from '../../../projections/records.ts';
import { caughtUp } from '../records/queries/page.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import { evaluate } from './evaluate.ts';
import { type ReadinessState, readinessState, standsAt } from './rules/findings.ts';
import { readRuleSettings } from './rules/ruleSettings.ts';

/**
 * Resolves with the current state of these encounters, by their ids, including every write acknowledged before the
 * call. Rejects with `unavailable`, also where a read model is too far behind.
 */
export async function readinessOf(
  ports: QueryPorts,
  workspace: string,
  encounterIds: readonly string[],
): Promise<Map<string, ReadinessState>> {
  await caughtUp(ports, recordsModel, 'readiness');
  const settings = await readRuleSettings(ports.eventLog, workspace);
  if (settings.requiredDocuments.size > 0) await caughtUp(ports, documentsModel, 'readiness');
  const evaluated = await evaluate(ports, workspace, encounterIds, settings, () => true);
  const now = Date.now();
  return new Map(
    [...evaluated].map(([id, { facts, findings }]) => [
      id,
      readinessState(
        facts,
        findings.filter((finding) => standsAt(finding, now)),
      ),
    ]),
  );
}
