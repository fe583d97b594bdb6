import type { Caller } from '../../domain/events/newEvent.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { changeRuleSettings } from './changeRuleSettings.ts';
import type { RequiredDocumentSet } from './rules/requiredDocuments.ts';

/**
 * Sets whether encounters of a visit type need a document of a category in the caller's workspace; appends nothing
 * when it is so already. Rejects with `unreadable` and `unavailable`.
 */
export async function setRequiredDocument(
  eventLog: EventLog,
  caller: Caller,
  data: RequiredDocumentSet,
): Promise<void> {
  const { visit_type: visitType, category, required } = data;
  await changeRuleSettings(eventLog, caller, ({ requiredDocuments }) => {
    const isRequired = requiredDocuments.get(visitType)?.includes(category) ?? false;
    return isRequired === required ? undefined : { type: 'RequiredDocumentSet', data: { ...data } };
  });
}
