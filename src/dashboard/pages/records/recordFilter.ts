import type { CatalogEntry, FilterField } from '../../../domain/records/catalog.ts';
import { isFlag } from '../../../domain/records/filters.ts';
import { fieldLabel } from '../../components/fieldLabel.ts';
import { filterForm } from '../../components/filterForm.ts';
import { input, messageOf, select } from '../../components/formFields.ts';
import { type Html, html } from '../../components/html.ts';
import { recordsPath } from '../../components/recordPaths.ts';
import type { Refusal } from '../../components/sentForm.ts';

const sorts = [
  { value: '-updated_at', text: 'Newest change first' },
  { value: 'created_at', text: 'Oldest record first' },
];

/** Returns the form that filters and sorts a list of a kind; `sent` is what it was sent with. */
export function recordFilter(
  workspace: string,
  entry: CatalogEntry,
  sent: Record<string, string>,
  refusal?: Refusal,
): Html {
  return filterForm(
    `/dashboard${recordsPath(workspace, entry.kind)}`,
    html`<input type="hidden" name="kind" value="${entry.plural}">
${entry.filters.map((filter) => filterField(entry, filter, sent, refusal))}
${select({ name: 'sort', label: 'Order', value: sent.sort ?? '-updated_at', options: sorts })}`,
  );
}

function filterField(
  entry: CatalogEntry,
  { field, by }: FilterField,
  sent: Record<string, string>,
  refusal: Refusal | undefined,
): Html {
  const line = (name: string, label: string, type: 'search' | 'date') =>
    input({ name, label, type, value: sent[name], error: messageOf(refusal?.details, name) });
  const label = fieldLabel(field);
  if (by === 'range') {
    return html`${line(`${field}_from`, `${label}, from`, 'date')}${line(`${field}_to`, `${label}, to`, 'date')}`;
  }
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
