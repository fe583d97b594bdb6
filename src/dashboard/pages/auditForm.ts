import { eventTypes } from '../../domain/events/upcast.ts';
import { subjectKinds } from '../../domain/records/eventSubject.ts';
import { accessActions } from '../../modules/audit/recordAccess.ts';
import { filterForm } from '../components/filterForm.ts';
import { input, messageOf, select } from '../components/formFields.ts';
import { type Html, html } from '../components/html.ts';
import { momentInputs, shownMoment } from '../components/momentFields.ts';
import type { Refusal } from '../components/sentForm.ts';
import { sinceLinks } from '../components/sinceLinks.ts';
import { titleOf } from '../components/words.ts';
import { actionText } from './auditTexts.ts';

interface Option {
  value: string;
  text: string;
}

const settingKinds = ['api_key', 'webhook', 'workspace'];
const actions = [...eventTypes().filter((type) => type !== 'AccessRecorded'), ...accessActions];
const isOfInstallation = (action: string) => /^(?:User|Setup|sign_|audit\.|key\.)/.test(action);
const isOfWorkspace = (action: string) => !/^(?:User|Setup|sign_|key\.)/.test(action);

const byText = (a: Option, b: Option) => a.text.localeCompare(b.text);

/**
 * Returns the form that filters the trail: of one workspace, or of the installation. `principals` are the choices
 * offered.
 */
export function auditForm(
  path: string,
  sent: Record<string, string>,
  principals: readonly Option[],
  isInstallation: boolean,
  refusal?: Refusal,
): Html {
  const choice = (name: string, label: string, anyText: string, options: readonly Option[]) => {
    const chosen = sent[name] ?? '';
    const isListed = chosen === '' || options.some((option) => option.value === chosen);
    const listed = isListed ? options : [{ value: chosen, text: chosen }, ...options];
    return select({ name, label, value: chosen, options: [{ value: '', text: anyText }, ...listed] });
  };
  const field = (name: string, label: string) => ({
    ...{ name, label, value: sent[name], error: messageOf(refusal?.details, name) },
  });
  const moment = (name: string, label: string) => ({
    ...{ ...field(name, label), value: shownMoment(sent[name]), step: 1 },
  });
  const kinds = isInstallation ? ['user'] : [...subjectKinds, ...settingKinds];
  const known = actions.filter(isInstallation ? isOfInstallation : isOfWorkspace);
  return html`${sinceLinks(path, sent)}
${filterForm(
  path,
  html`${momentInputs(moment('from', 'From'), moment('to', 'Before'))}
${choice('principal', 'Who', 'Anyone', principals)}
${choice('action', 'Action', 'Any action', known.map((action) => ({ value: action, text: actionText(action) })).sort(byText))}
${choice(
  'kind',
  'Kind',
  'Any kind',
  kinds.map((kind) => ({ value: kind, text: titleOf(kind) })),
)}
${input({ ...field('id', isInstallation ? 'User ID' : 'Record ID'), type: 'search' })}
${
  !isInstallation &&
  select({
    name: 'seen',
    label: 'About the record',
    value: sent.seen ?? '',
    options: [
      { value: '', text: 'Entries that name it' },
      { value: 'yes', text: 'Who has seen it, including lists, streams and webhooks' },
      { value: 'all', text: 'Who has seen the patient, including encounters and documents' },
    ],
    error: messageOf(refusal?.details, 'seen'),
  })
}
${choice('outcome', 'Outcome', 'Any outcome', [
  { value: 'accepted', text: 'Accepted' },
  { value: 'refused', text: 'Refused' },
])}
${select({
  name: 'without_views',
  label: 'Page views',
  value: sent.without_views ?? '',
  options: [
    { value: '', text: 'Included' },
    { value: 'yes', text: 'Excluded' },
  ],
})}`,
)}`;
}
