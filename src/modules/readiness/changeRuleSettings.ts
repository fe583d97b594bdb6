import type { JsonObject } from '../../domain/events/event.ts';
import { type Caller, newActorEvent } from '../../domain/events/newEvent.ts';
import { readinessStream } from '../../domain/events/streamNames.ts';
import { appendDecided } from '../../storage/appendDecided.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { type RuleSettings, readRuleSettings } from './rules/ruleSettings.ts';

/** The type and data of an event in the settings stream. */
export interface SettingsChange {
  type: 'ReadinessRuleSet' | 'FilingLimitSet' | 'RequiredDocumentSet';
  data: JsonObject;
}

/**
 * Appends the event that `decide` returns given the rule settings of the caller's workspace; nothing where it returns
 * none. Rejects with what `decide` throws, with `unreadable` and `unavailable`.
 */
export async function changeRuleSettings(
  eventLog: EventLog,
  caller: Caller,
  decide: (settings: RuleSettings) => SettingsChange | undefined,
): Promise<void> {
  const { workspace } = caller;
  const read = () => readRuleSettings(eventLog, workspace);
  await appendDecided(eventLog, readinessStream(workspace), read, (settings) => {
    const change = decide(settings);
    return change && newActorEvent(caller, workspace, change.type, change.data);
  });
}
