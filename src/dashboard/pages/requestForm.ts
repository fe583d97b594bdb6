import { statusOf } from '../../api/server/errorAnswer.ts';
import { filterForm } from '../components/filterForm.ts';
import { input, messageOf, select } from '../components/formFields.ts';
import { type Html, html } from '../components/html.ts';
import { momentInputs, shownMoment } from '../components/momentFields.ts';
import type { Refusal } from '../components/sentForm.ts';
import { sinceLinks } from '../components/sinceLinks.ts';
import { titleOf } from '../components/words.ts';

interface Option {
  value: string;
  text: string;
}

/** Of the errors, those with which requests are refused: the service's own failures are not kept. */
const refusals = Object.entries(statusOf).filter(([, status]) => status < 500);
const reasons = refusals.map(([code]) => ({ value: code, text: titleOf(code) }));
/** With that of batches of which lines were refused. */
const statuses = [...new Set(['200', ...refusals.map(([, status]) => String(status))])]
  .toSorted()
  .map((status) => ({ value: status, text: status }));

/** Returns the form that filters the list of refused requests. `keys` are those of the workspace. */
export function requestForm(
  path: string,
  sent: Record<string, string>,
  keys: readonly Option[],
  refusal?: Refusal,
): Html {
  const choice = (name: string, label: string, anyText: string, options: readonly Option[]) => {
    const value = sent[name] ?? '';
    const isListed = value === '' || options.some((option) => option.value === value);
    const listed = isListed ? options : [{ value, text: value }, ...options];
    const error = messageOf(refusal?.details, name);
    return select({ name, label, value, options: [{ value: '', text: anyText }, ...listed], error });
  };
  const moment = (name: string, label: string) => ({
    ...{ name, label, step: 1, value: shownMoment(sent[name]), error: messageOf(refusal?.details, name) },
  });
  const line = (name: string, label: string, hint: string) =>
    input({
      name,
      label,
      hint,
      type: 'search',
      value: sent[name],
      error: messageOf(refusal?.details, name),
    });
  return html`${sinceLinks(path, sent)}
${filterForm(
  path,
  html`${line('request_id', 'Request ID', 'Opens that request if no other filter is set.')}
${choice('code', 'Reason', 'Any reason', reasons)}
${choice('status', 'Status', 'Any status', statuses)}
${choice('key', 'API key', 'Any key', keys)}
${line('field', 'Field at fault', 'Such as primary_insurance.payer_id')}
${momentInputs(moment('from', 'From'), moment('to', 'Before'))}`,
)}`;
}
