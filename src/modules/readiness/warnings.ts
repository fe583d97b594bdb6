import { qualityWarnings, viewRecord } from '../../domain/records/fold.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import type { CatalogEntry, RecordFields } from '../../domain/records/schema/kind.ts';
import { notSent } from '../../domain/records/schema/validation.ts';
import type { FieldMessage } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { WriteWarnings } from '../records/commands/upsert.ts';
import { appliesAt, findingsOf, rules } from './rules/index.ts';
import type { RuleSettings } from './rules/rule.ts';
import { RuleSettingsCache } from './settings.ts';

const ofEncounterOnly = rules.filter(
  ({ reads, comparesEncounters }) =>
    !comparesEncounters && reads.every((field) => field.startsWith('encounter.')),
);

/**
 * Returns what the rules that read only the encounter find in it, if it is completed and not void, as remarks on a
 * write that sent these fields. `record`: its merged fields after the write; where they are not known, what was not
 * sent may exist from before.
 */
function encounterWarnings(
  sent: RecordFields,
  record: RecordFields | undefined,
  settings: () => RuleSettings,
): FieldMessage[] {
  const fields = record ?? sent;
  if (fields.is_completed !== true) return [];
  const now = Date.now();
  const { kind } = encounter;
  const facts = {
    encounter: { kind, id: fields.id, version: 0, fields: viewRecord({ kind, fields }) },
  };
  return findingsOf(facts, settings(), ofEncounterOnly)
    .filter((finding) => appliesAt(finding, now))
    .map(({ field, text }) =>
      record === undefined && sent[field] === undefined
        ? notSent(field, 'the encounter is completed')
        : { field, message: text },
    );
}

/** Returns the warnings of writes, according to the rule settings of each workspace as last read from the log. */
export function openWriteWarnings(eventLog: EventLog): WriteWarnings {
  const settings = new RuleSettingsCache(eventLog);
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
