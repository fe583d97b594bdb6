import type { FieldChange } from '../../domain/records/diff.ts';
import type { AppliedComparison } from '../../modules/integrations/replay/applyComparison.ts';
import type { MappingComparison } from '../../modules/integrations/replay/compareMappings.ts';
import { count, printable, writeLine } from '../lib/output.ts';

/** Returns a comparison's form in JSON. */
export function comparisonView({ messages, changed, made, left, otherwise }: MappingComparison) {
  return {
    messages,
    changed: changed.map(({ kind, id, version, changes, changedSince, messages: by }) => ({
      ...{ kind, id, version, changes, changed_since: changedSince, messages: by },
    })),
    made,
    left,
    otherwise,
  };
}

/** Prints what would change, and how, one record after the other. */
export function writeComparison({ messages, changed, made, left, otherwise }: MappingComparison): void {
  for (const { kind, id, version, changes, changedSince } of changed) {
    writeLine(`${kind} ${printable(id)}, version ${version}`);
    for (const change of changes) writeLine(`  ${changeText(change)}`);
    for (const change of changedSince) writeLine(`  changed since, stays: ${changeText(change)}`);
  }
  for (const { kind, id } of made) writeLine(`made: ${kind} ${printable(id)}`);
  for (const { kind, id } of left) writeLine(`named no more, stays: ${kind} ${printable(id)}`);
  for (const { message, from, to, problems } of otherwise) {
    writeLine(`message ${message}: ${to}; it was ${from}`);
    for (const { at, text } of problems) writeLine(`  ${at}: ${text}`);
  }
  const corrected = changed.filter(({ changes }) => changes.length > 0).length;
  writeLine(
    `By ${count(messages)} messages: records that change ${count(corrected)}, that are made ${count(made.length)}, that are named no more ${count(left.length)}; messages that come to something else ${count(otherwise.length)}.`,
  );
}

/** Prints the results of the records, after the comparison. */
export function writeApplied({ applied, refused }: AppliedComparison): void {
  for (const { kind, id, outcome, version } of applied) {
    writeLine(`${outcome}: ${kind} ${printable(id)}, version ${version}`);
  }
  for (const { kind, id, text } of refused) writeLine(`not written: ${kind} ${printable(id)}: ${text}`);
  if (applied.length + refused.length === 0)
    writeLine('The source is configured so, and nothing was to be written.');
}

function changeText({ field, from, to }: FieldChange): string {
  return `${field}: ${valueText(from)} → ${valueText(to)}`;
}

function valueText(value: FieldChange['from']): string {
  return value === null ? 'nothing' : printable(JSON.stringify(value));
}
