import type { RecordFields } from '../../domain/records/catalog.ts';
import { viewRecord } from '../../domain/records/fold.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { notSent } from '../../domain/records/schema/fieldChecks.ts';
import type { FieldMessage } from '../../platform/errors.ts';
import { findingsOf, standsAt } from './rules/findings.ts';
import { rules } from './rules/index.ts';
import type { RuleSettings } from './rules/ruleSettings.ts';

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
