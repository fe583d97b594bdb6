import { Readable } from 'node:stream';
import { validationError } from '../../domain/records/schema/validation.ts';
import { type OfficeHours, requireOfficeHours, weekdays } from '../../modules/audit/accessReview.ts';
import {
  type BreakGlassChoice,
  breakGlassChoices,
  type ReasonChoice,
  reasonChoices,
  type Workspace,
} from '../../modules/auth/apiKeys.ts';
import type { KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import { KeyManager } from '../../modules/auth/keyManager.ts';
import {
  type DateChoice,
  type DeidentificationSettings,
  dateChoices,
  readDeidentification,
  setDeidentification,
} from '../../modules/eventStream/deidentificationSettings.ts';
import { readZipAreas } from '../../modules/eventStream/zipAreas.ts';
import type { FieldMessage } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { checkboxes, formError, input, messageOf, select, textArea } from '../components/forms.ts';
import { breadcrumb } from '../components/layout.ts';
import {
  admins,
  type DashboardRoute,
  forReader,
  type Html,
  html,
  type Page,
  problemOf,
  type Refusal,
  type Reply,
  textOf,
  type Visit,
  valuesOf,
  viewerPreferences,
} from '../components/page.ts';
import { docPath } from '../components/urls.ts';

interface Ports {
  directory: KeyDirectory;
  eventLog: EventLog;
}

/** What is set in a workspace. */
interface Settings {
  workspace: Partial<Workspace>;
  deidentification: DeidentificationSettings;
}

/** A form of the page. It is saved by one event, so that all of it is in force, or nothing. */
interface Part {
  name: string;
  title: string;
  fields(settings: Settings, details?: readonly FieldMessage[]): Html;
  /** Rejects with `validation_failed` for what cannot be set. */
  save(ports: Ports, visit: Visit): Promise<void>;
}

/** `…/settings`: who may open records of a workspace, why, and when people work there; what its de-identified view shows. */
export function workspaceSettingsRoutes(ports: Ports): DashboardRoute[] {
  const route = {
    ...{ path: '/workspaces/:workspace/settings', roles: admins },
    ...{ isInstallationWide: true, isLarge: true },
  };
  return [
    { ...route, method: 'get', handle: async (visit) => ({ page: await page(ports, visit) }) },
    { ...route, method: 'post', handle: (visit) => save(ports, visit) },
  ];
}

async function save(ports: Ports, visit: Visit): Promise<Reply> {
  const { form, notice, workspace } = visit;
  const part = parts.find(({ name }) => name === textOf(form, PART));
  if (part === undefined) throw validationError([{ field: PART, message: 'is not a part of the settings' }]);
  try {
    await part.save(ports, visit);
    notice(`${part.title}: saved.`);
    return { redirect: `/workspaces/${workspace}/settings` };
  } catch (error) {
    const refusal = problemOf(error);
    return forReader({ ...viewerPreferences(), typed: form }, async () => ({
      page: await page(ports, visit, refusal),
    }));
  }
}

/** The hidden field by which a form says which part it is. */
const PART = 'part';

async function page(
  { directory, eventLog }: Ports,
  { workspace, csrf }: Visit,
  refusal?: Refusal,
): Promise<Page> {
  await directory.refresh();
  const settings = {
    workspace: directory.known.workspaces.get(workspace) ?? {},
    deidentification: await readDeidentification(eventLog, workspace),
  };
  const { typed, ...reader } = viewerPreferences();
  const card = (part: Part) => {
    const { name, title } = part;
    const isTyped = typed !== undefined && textOf(typed, PART) === name;
    const shown = () => part.fields(settings, isTyped ? refusal?.details : undefined);
    return html`<section class="card" aria-labelledby="${name}"><h2 id="${name}">${title}</h2>
${isTyped && formError(refusal)}
<form method="post">${csrf}
<input type="hidden" name="${PART}" value="${name}">
${isTyped ? shown() : forReader(reader, shown)}
<div class="actions"><button type="submit" aria-label="Save: ${title}">Save</button></div>
</form></section>`;
  };
  return {
    title: `Settings of ${workspace}`,
    section: 'Workspaces',
    ...(refusal && { status: refusal.status }),
    body: html`${breadcrumb([{ text: 'Workspaces', path: '/workspaces' }])}
<h1>Settings of ${workspace}</h1>
<p>Each form is saved by its own button. Each change is in the audit trail.</p>
<div class="charts">${[breakGlass, reason, officeHours].map(card)}</div>
${card(deidentification)}`,
  };
}

/** Returns the choice that a form has. Throws `validation_failed` for none. */
function chosen<Choice extends string>(choices: readonly Choice[], form: Visit['form'], name: string) {
  const choice = choices.find((one) => one === textOf(form, name));
  if (choice === undefined)
    throw validationError([{ field: name, message: `must be one of ${choices.join(', ')}` }]);
  return choice;
}

const breakGlassTexts: Record<BreakGlassChoice, string> = {
  allow: 'Allowed for 30 minutes, with a reason',
  refuse: 'Refused',
};

const breakGlass: Part = {
  name: 'break-glass',
  title: 'Break-glass',
  fields: ({ workspace }, details) =>
    select({
      ...{ name: 'break_glass', label: 'Records opened in an emergency' },
      error: messageOf(details, 'break_glass'),
      value: workspace.breakGlass ?? 'refuse',
      options: breakGlassChoices.map((value) => ({ value, text: breakGlassTexts[value] })),
      hint: 'By users without the right for the record.',
    }),
  save: ({ directory }, { actor, form, workspace }) =>
    new KeyManager(directory, actor).setBreakGlass(workspace, chosen(breakGlassChoices, form, 'break_glass')),
};

const reasonTexts: Record<ReasonChoice, string> = { required: 'Required', optional: 'Optional' };

const reason: Part = {
  name: 'reason',
  title: 'Reason for reads',
  fields: ({ workspace }, details) =>
    select({
      ...{ name: 'reason', label: 'Reason', value: workspace.reason ?? 'optional' },
      error: messageOf(details, 'reason'),
      options: reasonChoices.map((value) => ({ value, text: reasonTexts[value] })),
      hint: 'Whether everybody who reads has to say why: on the dashboard, at the command line and with an API key.',
    }),
  save: ({ directory }, { actor, form, workspace }) =>
    new KeyManager(directory, actor).setReason(workspace, chosen(reasonChoices, form, 'reason')),
};

const dayTexts: Record<(typeof weekdays)[number], string> = {
  ...{ sun: 'Sunday', mon: 'Monday', tue: 'Tuesday', wed: 'Wednesday' },
  ...{ thu: 'Thursday', fri: 'Friday', sat: 'Saturday' },
};

const officeHours: Part = {
  name: 'office-hours',
  title: 'Office hours',
  fields({ workspace }, details) {
    const { from = '', to = '', days = weekdays } = workspace.officeHours ?? {};
    const clock = (name: 'from' | 'to', label: string, value: string, placeholder: string) =>
      input({ name, label, value, placeholder, autocomplete: 'off', error: messageOf(details, name) });
    return html`<p class="muted">The monthly report lists access at other times. Leave both empty if people work at any time. Times are in the workspace’s time zone.</p>
<div class="filter-fields">${clock('from', 'From', from, '07:00')}${clock('to', 'To', to, '19:00')}</div>
<div class="choices">${checkboxes(
      'days',
      'Days',
      weekdays.map((value) => ({ value, text: dayTexts[value], isChecked: days.includes(value) })),
      messageOf(details, 'days'),
    )}</div>`;
  },
  async save({ directory }, { actor, form, workspace }) {
    const hours = hoursSent(form);
    if (hours) requireOfficeHours(hours);
    await new KeyManager(directory, actor).setOfficeHours(workspace, hours);
  },
};

/** Returns the hours that a form has, unchecked; undefined: people work at any time. */
function hoursSent(form: Visit['form']): OfficeHours | undefined {
  const [from, to] = [textOf(form, 'from'), textOf(form, 'to')];
  if (from === '' && to === '') return undefined;
  const sent = valuesOf(form, 'days');
  return { from, to, days: weekdays.filter((day) => sent.includes(day)) };
}

const dateTexts: Record<DateChoice, string> = {
  years: 'Only years: Safe Harbor',
  shifted: 'Shifted by 350 to 380 days: Expert Determination, not Safe Harbor',
};

const deidentification: Part = {
  name: 'deidentification',
  title: 'De-identified view',
  fields({ deidentification: { dates, determination, zipAreas } }, details) {
    const areas = details?.find(({ field }) => field.startsWith('zip_areas'));
    return html`<div class="record-columns"><div>
${select({
  ...{ name: 'dates', label: 'Dates', value: dates, error: messageOf(details, 'dates') },
  options: dateChoices.map((value) => ({ value, text: dateTexts[value] })),
})}
${input({
  ...{ name: 'determination', label: 'Expert determination', value: determination ?? '' },
  ...{ autocomplete: 'off', placeholder: 'Report of J. Doe, PhD, of 2026-02-01' },
  hint: 'Who determined that the risk of identification is very small, and in which report (45 CFR 164.514(b)(1)). Required for shifted dates, and kept only with them.',
  error: messageOf(details, 'determination'),
})}
${textArea({
  ...{ name: 'zip_areas', label: 'Areas of ZIP codes with more than 20,000 people', rows: 6 },
  value: [...zipAreas].join('\n'),
  hint: 'The first three digits of their ZIP codes, one area a line, or a CSV file of the Census with the people of each ZCTA. Other areas are shown as 000. Empty: ZIP codes are left out.',
  error: areas?.message,
})}
<label hidden>Fill in from a file <input type="file" accept=".csv,.txt,text/csv,text/plain" data-file-into="zip_areas"></label>
</div>
${shownAndHidden}</div>`;
  },
  async save({ eventLog }, { caller, form }) {
    const dates = chosen(dateChoices, form, 'dates');
    const areas = textOf(form, 'zip_areas');
    await setDeidentification(eventLog, caller, {
      dates,
      ...(dates === 'shifted' && { determination: textOf(form, 'determination') }),
      zip_areas: areas === '' ? [] : await readZipAreas(Readable.from([areas])),
    });
  },
};

/** What readers of the view can and cannot learn from it. */
const shownAndHidden = html`<div>
<p>For recipients who must not learn who the patients are. It applies to what is recorded from now on; earlier records have it once they are sent again.</p>
<p><strong>Hidden:</strong> names, streets, cities, phone numbers, email and web addresses, SSN digits, numbers of policies, providers and claims, free text, and files. Hashes replace IDs.</p>
<p><strong>Shown:</strong> states and countries, gender, the kinds of visits, facilities, providers, payers and documents, what blocks billing, and years; ages of 90 and more as one group.</p>
<p><strong>Not hidden by shifted dates:</strong> each date, to within 15 days: it is 365 days after the shifted one. Who knows one date of a patient, such as that of birth, learns the others. The intervals between many visits may be unique. A reader who sees events as they arrive learns the days on which they were sent.</p>
<p><a href="${docPath('concepts/de-identification')}">What the view shows of each field</a></p>
</div>`;

const parts: readonly Part[] = [breakGlass, reason, officeHours, deidentification];
