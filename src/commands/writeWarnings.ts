import type { FieldMessage } from '../errors.ts';
import { encounterWarnings } from '../readiness/encounterWarnings.ts';
import type { RuleSettings } from '../readiness/ruleSettings.ts';
import type { CatalogEntry, RecordFields } from '../records/catalog.ts';
import { encounter } from '../records/kinds/encounter.ts';
import { qualityWarnings } from '../records/qualityWarnings.ts';

/**
 * The remarks on an accepted write: those on what was sent (`input`, and `sent`, what validation kept of it), and what the rules
 * find in a completed encounter by the settings. `record`: its merged fields behind the write, where they are known.
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
  // What a rule finds in a field may be what a check said of it.
  const fields = new Set(found.map(({ field }) => field));
  return [...warnings.filter(({ field }) => !fields.has(field)), ...found];
}
