import type { CatalogEntry, RecordFields } from '../../domain/records/catalog.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { qualityWarnings } from '../../domain/records/qualityWarnings.ts';
import type { FieldMessage } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { WriteWarnings } from '../records/commands/upsertRecord.ts';
import { encounterWarnings } from './encounterWarnings.ts';
import { RememberedRuleSettings } from './RememberedRuleSettings.ts';
import type { RuleSettings } from './rules/ruleSettings.ts';

/** Returns the warnings of writes, according to the rule settings of each workspace as last read from the log. */
export function openWriteWarnings(eventLog: EventLog): WriteWarnings {
  const settings = new RememberedRuleSettings(eventLog);
  return (workspace, entry, input, sent, record) =>
    writeWarnings(entry, input, sent, () => settings.of(workspace), record);
}

/**
 * Returns the warnings for an accepted write: those about what was sent (`input`, and `sent`, what validation kept of it), and
 * what the rules find in a completed encounter according to the settings. `record`: its merged fields after the write, if known.
 */
export function writeWarnings(
  entry: CatalogEntry,
  input: object,
  sent: RecordFields,
  settings: () => RuleSettings,
  record: RecordFields | undefined,
): FieldMessage[] {
  const warnings = qualityWarnings(entry, input, sent);
  if (entry.kind !== encounter.kind) return warnings;
  const found = encounterWarnings(sent, record, settings);
  if (found.length === 0) return warnings;
  // A rule may find the same problem in a field as a check did.
  const fields = new Set(found.map(({ field }) => field));
  return [...warnings.filter(({ field }) => !fields.has(field)), ...found];
}
