import { accessActions } from '../../audit/recordAccess.ts';
import { eventTypes } from '../../events/upcast.ts';
import { subjectKinds } from '../../records/eventSubject.ts';
import { requiredDate } from '../../records/fields.ts';
import { instantOf } from '../../records/instantOf.ts';
import { type Html, html } from '../shell/html.ts';
import { presentReader } from '../shell/reader.ts';
import type { Refusal } from '../shell/sentForm.ts';
import { filterForm } from '../ui/filterForm.ts';
import { input, messageOf, select } from '../ui/formFields.ts';
import { titleOf } from '../ui/words.ts';
import { startOfDay } from '../ui/zonedTime.ts';
import { actionText } from './auditTexts.ts';

interface Option {
  value: string;
  text: string;
}

const settingKinds = ['api_key', 'webhook', 'workspace'];
const actions = [...eventTypes().filter((type) => type !== 'AccessRecorded'), ...accessActions];
const isOfInstallation = (action: string) => /^(?:User|Setup|sign_|audit\.)/.test(action);
const isOfWorkspace = (action: string) => !/^(?:User|Setup|sign_)/.test(action);

const byText = (a: Option, b: Option) => a.text.localeCompare(b.text);

/** The form that limits the trail: of one workspace, or of the installation. `principals` are those to choose among. */
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
  const inputOf = (name: string, label: string, type: 'datetime-local' | 'search') =>
    input({
      name,
      label,
      type,
      value: type === 'datetime-local' ? shownMoment(sent[name]) : sent[name],
      error: messageOf(refusal?.details, name),
      ...(type === 'datetime-local' && { step: 1 }),
    });
  const kinds = isInstallation ? ['user'] : [...subjectKinds, ...settingKinds];
  const known = actions.filter(isInstallation ? isOfInstallation : isOfWorkspace);
  return html`${sinceLinks(path, sent)}
${filterForm(
  path,
  html`${inputOf('from', 'From (UTC)', 'datetime-local')}
${inputOf('to', 'Before (UTC)', 'datetime-local')}
${choice('principal', 'Who', 'Anyone', principals)}
${choice('action', 'What', 'Anything', known.map((action) => ({ value: action, text: actionText(action) })).sort(byText))}
${choice(
  'kind',
  'Kind',
  'Any kind',
  kinds.map((kind) => ({ value: kind, text: titleOf(kind) })),
)}
${inputOf('id', isInstallation ? 'User id' : 'Record id', 'search')}
${
  !isInstallation &&
  select({
    name: 'seen',
    label: 'Of the record',
    value: sent.seen ?? '',
    options: [
      { value: '', text: 'Entries that name it' },
      { value: 'yes', text: 'Who has seen it: also lists, streams, webhooks' },
      { value: 'all', text: 'Who has seen the patient, its encounters or documents' },
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
  label: 'Pages looked at',
  value: sent.without_views ?? '',
  options: [
    { value: '', text: 'With what users looked at here' },
    { value: 'yes', text: 'Without it' },
  ],
})}`,
)}`;
}

const DAY_MS = 86_400_000;

/** What is asked for, since a usual moment: the present day is that of the reader. */
function sinceLinks(path: string, sent: Record<string, string>): Html {
  const { timeZone = 'UTC' } = presentReader();
  const now = Date.now();
  const { to: _to, page_token: _token, ...kept } = sent;
  const link = (text: string, from: number) => {
    const query = new URLSearchParams({ ...kept, from: new Date(from).toISOString() });
    return html`<a href="${path}?${query.toString()}">${text}</a>`;
  };
  return html`<p class="line"><span class="muted">Since</span>
${link(`today (${timeZone.replaceAll('_', ' ')})`, startOfDay(now, timeZone))}
${link('24 hours ago', now - DAY_MS)}
${link('7 days ago', now - 7 * DAY_MS)}</p>`;
}

/** A moment that was sent, as a field of date and time can show it, in UTC; what is none stays as it was sent. */
export function shownMoment(sent: string | undefined): string | undefined {
  if (!requiredDate('').safeParse(sent).success) return sent;
  return new Date(instantOf(sent as string)).toISOString().slice(0, 19);
}
