import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { facility } from '../../../domain/records/kinds/facility.ts';
import { patient } from '../../../domain/records/kinds/patient.ts';
import { provider } from '../../../domain/records/kinds/provider.ts';
import type { CatalogEntry, FilterField } from '../../../domain/records/schema/kind.ts';
import { isFlag } from '../../../domain/records/searchIndex.ts';
import { filterForm, type InputField, input, messageOf, select } from '../../components/forms.ts';
import { fieldLabel, titleOf } from '../../components/labels.ts';
import { type Html, html, type Refusal, type Visit } from '../../components/page.ts';
import { momentInputs, shownMoment } from '../../components/time.ts';
import { recordsPath } from '../../components/urls.ts';

const sorts = [
  { value: '-updated_at', text: 'Newest change' },
  { value: 'created_at', text: 'Oldest record' },
];

/** The name of the field that finds records by what they are called: in the form, never in an address. */
export const NAME = 'name';

/** Returns the kind by whose names records of a kind are found: encounters have none, and are those of a patient. */
export function namedBy(entry: CatalogEntry): CatalogEntry {
  return entry === encounter ? patient : entry;
}

export type Suggestions = ReadonlyMap<string, InputField['suggestions']>;

/** Returns the kinds whose names the filters of a list suggest: not patients, of whom a page would show many unasked. */
export function suggestedFor(entry: CatalogEntry): CatalogEntry[] {
  return entry === encounter ? [provider, facility] : [];
}

/** Returns the form that filters and sorts a list of a kind; `sent` is what it was sent with. */
export function recordFilter(
  { workspace, csrf }: Visit,
  entry: CatalogEntry,
  sent: Record<string, string>,
  { refusal, suggestions }: { refusal?: Refusal | undefined; suggestions?: Suggestions | undefined } = {},
): Html {
  const error = (name: string) => messageOf(refusal?.details, name);
  return filterForm({
    path: `/dashboard${recordsPath(workspace, entry.kind)}`,
    csrf,
    limits: { ...sent, id: undefined, sort: undefined, limit: undefined },
    refusal,
    fields: html`<input type="hidden" name="kind" value="${entry.plural}">
${input({
  ...{
    name: NAME,
    label: namedBy(entry) === entry ? 'Name' : namedBy(entry).title,
    type: 'search',
    value: sent[NAME],
    autocomplete: 'off',
  },
  // Of what is found by name, only patients have a date.
  ...(namedBy(entry) === patient && { placeholder: 'Name or date' }),
  error: error(NAME),
})}
${input({ name: 'id', label: 'ID', type: 'search', value: sent.id, autocomplete: 'off', error: error('id') })}
${entry.filters.map((filter) => filterField(entry, filter, sent, { refusal, suggestions }))}
${select({ name: 'sort', label: 'Order', value: sent.sort ?? '-updated_at', options: sorts })}
${momentInputs({ name: 'as_of', label: 'As of', value: shownMoment(sent.as_of), step: 1, error: error('as_of') })}`,
  });
}

function filterField(
  entry: CatalogEntry,
  { field, by }: FilterField,
  sent: Record<string, string>,
  { refusal, suggestions }: { refusal: Refusal | undefined; suggestions: Suggestions | undefined },
): Html {
  const line = (name: string, label: string, type: 'search' | 'date', known?: InputField['suggestions']) =>
    input({
      ...{ name, label, type, value: sent[name], suggestions: known },
      error: messageOf(refusal?.details, name),
    });
  const label = fieldLabel(field);
  if (by === 'range') {
    return html`${line(`${field}_from`, `${label}, from`, 'date')}${line(`${field}_to`, `${label}, to`, 'date')}`;
  }
  const referred = entry.references.find((one) => one.field === field)?.kind;
  const known = referred && suggestions?.get(referred);
  if (known) return line(field, titleOf(referred), 'search', known);
  if (!isFlag(entry, field)) return line(field, label, 'search');
  return select({
    name: field,
    label,
    value: sent[field] ?? '',
    options: [
      { value: '', text: 'Any' },
      { value: 'true', text: 'Yes' },
      { value: 'false', text: 'No' },
    ],
    error: messageOf(refusal?.details, field),
  });
}
