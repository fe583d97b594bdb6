import type { FieldMessage } from '../errors.ts';
import type { RecordFields } from '../records/catalog.ts';
import { notSent } from '../records/fieldChecks.ts';
import { viewRecord } from '../records/fold.ts';
import { encounter } from '../records/kinds/encounter.ts';
import { findingsOf, standsAt } from './findings.ts';
import type { RuleSettings } from './ruleSettings.ts';
import { rules } from './rules/index.ts';

const ofEncounterAlone = rules.filter(
  ({ reads, comparesEncounters }) =>
    !comparesEncounters && reads.every((field) => field.startsWith('encounter.')),
);

/**
 * Returns what the rules that read only the encounter find in it, if it is completed and not void, as remarks on a
 * write that sent these fields. `record`: its merged fields after the write; where they are not known, what was not
 * sent may exist from before.
 */
export function encounterWarnings(
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
  return findingsOf(facts, settings(), ofEncounterAlone)
    .filter((finding) => standsAt(finding, now))
    .map(({ field, text }) =>
      record === undefined && sent[field] === undefined
        ? notSent(field, 'the encounter is completed')
        : { field, message: text },
    );
}
