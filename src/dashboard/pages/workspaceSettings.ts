import { type OfficeHours, requireOfficeHours, weekdays } from '../../modules/audit/accessReview.ts';
import {
  type BreakGlassChoice,
  breakGlassChoices,
  type ReasonChoice,
  reasonChoices,
} from '../../modules/auth/apiKeys.ts';
import type { KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import { KeyManager } from '../../modules/auth/keyManager.ts';
import type { FieldMessage } from '../../platform/errors.ts';
import { checkboxes, confirmedChange, input, messageOf, select } from '../components/forms.ts';
import { type DashboardRoute, type Html, html, textOf, type Visit, valuesOf } from '../components/page.ts';

const breakGlassTexts: Record<BreakGlassChoice, string> = {
  allow: 'Allowed for 30 minutes, with a reason',
  refuse: 'Refused',
};

const reasonTexts: Record<ReasonChoice, string> = { required: 'Required', optional: 'Optional' };

const dayTexts: Record<(typeof weekdays)[number], string> = {
  ...{ sun: 'Sunday', mon: 'Monday', tue: 'Tuesday', wed: 'Wednesday' },
  ...{ thu: 'Thursday', fri: 'Friday', sat: 'Saturday' },
};

/** The form for who may open records of a workspace, why, and when people work there. */
export function workspaceSettingsRoutes({ directory }: { directory: KeyDirectory }): DashboardRoute[] {
  return confirmedChange({
    path: '/workspaces/:workspace/settings',
    isInstallationWide: true,
    async find({ workspace }) {
      await directory.refresh();
      return workspace;
    },
    question: (workspace, _visit, details) => ({
      title: `Settings of ${workspace}`,
      section: 'Workspaces',
      text: 'Each change is in the audit trail.',
      fields: settingFields(directory, workspace, details),
      button: 'Save settings',
      back: '/workspaces',
    }),
    async make(workspace, { form, actor, notice }) {
      const hours = hoursSent(form);
      if (hours) requireOfficeHours(hours);
      const manager = new KeyManager(directory, actor);
      const chosen = <Choice extends string>(choices: readonly Choice[], name: string) =>
        choices.find((one) => one === textOf(form, name));
      const [breakGlass, reason] = [
        chosen(breakGlassChoices, 'break_glass'),
        chosen(reasonChoices, 'reason'),
      ];
      if (breakGlass) await manager.setBreakGlass(workspace, breakGlass);
      if (reason) await manager.setReason(workspace, reason);
      await manager.setOfficeHours(workspace, hours);
      notice(`The settings of ${workspace} are saved.`);
      return { redirect: '/workspaces' };
    },
  });
}

function settingFields({ known }: KeyDirectory, workspace: string, details?: readonly FieldMessage[]): Html {
  const { breakGlass = 'refuse', reason = 'optional', officeHours } = known.workspaces.get(workspace) ?? {};
  const { from = '', to = '', days = weekdays } = officeHours ?? {};
  const clock = (name: 'from' | 'to', label: string, value: string, placeholder: string) =>
    input({ name, label, value, placeholder, autocomplete: 'off', error: messageOf(details, name) });
  return html`${select({
    ...{ name: 'break_glass', label: 'Break-glass', value: breakGlass },
    options: breakGlassChoices.map((value) => ({ value, text: breakGlassTexts[value] })),
    hint: 'Whether users without the right for a record may open it in an emergency.',
  })}
${select({
  ...{ name: 'reason', label: 'Reason for reads', value: reason },
  options: reasonChoices.map((value) => ({ value, text: reasonTexts[value] })),
  hint: 'Whether everybody who reads has to say why: on the dashboard, at the command line and with an API key.',
})}
<fieldset><legend>Office hours</legend>
<p>Access at other times is in the monthly report. Leave both empty where people work at any time. Times are those of the workspace’s time zone.</p>
${clock('from', 'From', from, '07:00')}
${clock('to', 'To', to, '19:00')}</fieldset>
${checkboxes(
  'days',
  'Office days',
  weekdays.map((value) => ({ value, text: dayTexts[value], isChecked: days.includes(value) })),
  messageOf(details, 'days'),
)}`;
}

/** Returns the hours that a form has, unchecked; undefined: people work at any time. */
function hoursSent(form: Visit['form']): OfficeHours | undefined {
  const [from, to] = [textOf(form, 'from'), textOf(form, 'to')];
  if (from === '' && to === '') return undefined;
  const sent = valuesOf(form, 'days');
  return { from, to, days: weekdays.filter((day) => sent.includes(day)) };
}
