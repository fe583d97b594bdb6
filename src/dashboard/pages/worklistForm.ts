import { rules } from '../../modules/readiness/rules/index.ts';
import { filterForm } from '../components/filterForm.ts';
import { input, messageOf, select } from '../components/formFields.ts';
import { type Html, html } from '../components/html.ts';
import type { Refusal } from '../components/sentForm.ts';
import { worklistPath } from '../components/worklistPaths.ts';
import { shownStates, stateTexts } from './stateTexts.ts';

/** Returns the form that limits the worklist; `sent` is what it was sent with. */
export function worklistForm(workspace: string, sent: Record<string, string>, refusal?: Refusal): Html {
  const line = (name: string, label: string, type: 'search' | 'date', hint?: string) =>
    input({ name, label, type, hint, value: sent[name], error: messageOf(refusal?.details, name) });
  const choice = (name: string, label: string, value: string, options: { value: string; text: string }[]) =>
    select({ name, label, value, options, error: messageOf(refusal?.details, name) });
  return filterForm(
    worklistPath(workspace),
    html`${choice(
      'state',
      'State',
      sent.state ?? 'blocked',
      shownStates.map((value) => ({ value, text: stateTexts[value] })),
    )}
${choice('rule', 'Unmet rule', sent.rule ?? '', [
  { value: '', text: 'Any' },
  ...rules.map(({ code, title }) => ({ value: code, text: title })),
])}
${line('payer_id', 'Payer ID', 'search', 'Payer of the primary insurance.')}
${line('facility_id', 'Facility ID', 'search')}
${line('provider_id', 'Provider ID', 'search', 'The billing provider.')}
${line('from', 'Date of service, from', 'date')}
${line('to', 'Date of service, to', 'date')}`,
  );
}
