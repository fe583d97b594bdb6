import type { ReadinessState } from '../../domain/events/readinessEvents.ts';
import { unavailable } from '../../platform/errors.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import { evaluate } from './evaluate.ts';
import { appliesAt, readinessState } from './rules/index.ts';
import { type BillingFacts, isVoid, type RuleSettings, readRuleSettings } from './rules/rule.ts';
import { readProgress, requireSelectedRecords, wholeWorklist } from './worklist.ts';
import type { WorklistSelection } from './worklistFanOut.ts';
import { billedAmong } from './worklistModel.ts';

/** What a claim for an encounter would be based on at a moment, in milliseconds since 1970. */
export interface DraftFacts {
  facts: BillingFacts;
  settings: RuleSettings;
  state: ReadinessState;
  at: number;
}

/**
 * Resolves with what claims for the encounters of a selection would be based on, in parts, by the read models; void ones are left out,
 * and so is one that has left the state that was asked for. Rejects with `unavailable`, also where the worklist is not current, and as
 * `requireSelectedRecords` does.
 */
export async function readDrafts(
  ports: QueryPorts,
  workspace: string,
  selection: WorklistSelection,
): Promise<AsyncGenerator<DraftFacts[]>> {
  await requireSelectedRecords(ports.eventLog, workspace, selection);
  const { isCurrent } = await readProgress(ports, workspace);
  if (!isCurrent) throw unavailable('list');
  return draftsOf(ports, workspace, selection);
}

async function* draftsOf(
  ports: QueryPorts,
  workspace: string,
  selection: WorklistSelection,
): AsyncGenerator<DraftFacts[]> {
  const { eventLog, readModels } = ports;
  const settings = await readRuleSettings(eventLog, workspace);
  for await (const entries of wholeWorklist(readModels, workspace, selection)) {
    const ids = entries.map(({ encounter_id }) => encounter_id);
    const evaluated = await evaluate(ports, workspace, ids, settings, (some) =>
      billedAmong(readModels, workspace, some),
    );
    const at = Date.now();
    yield ids.flatMap((id) => {
      const { facts, findings } = evaluated.get(id) ?? {};
      if (facts === undefined || findings === undefined || isVoid(facts.encounter)) return [];
      const standing = findings.filter((finding) => appliesAt(finding, at));
      const state = readinessState(facts, standing, at);
      return selection.state === undefined || selection.state === state
        ? [{ facts, settings, state, at }]
        : [];
    });
  }
}
