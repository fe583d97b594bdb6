import type { Role } from '../../modules/auth/user.ts';
import type { FieldMessage } from '../../platform/errors.ts';
import { formError } from './formFields.ts';
import { type Html, type HtmlValue, html } from './html.ts';
import { forReader, presentReader } from './reader.ts';
import { admins, type DashboardRoute, type Page, type Reply, type Visit } from './route.ts';
import { refusalOf } from './sentForm.ts';

export interface Confirmation {
  /** The question, which names what is changed. */
  title: string;
  section: string;
  /** What will happen. */
  text: HtmlValue;
  /** The fields of the answer, besides the button. */
  fields?: Html | undefined;
  /** Undefined where the change cannot be made. */
  button: string | undefined;
  isDangerous?: boolean | undefined;
  /** Where declining leads to: a path below `/dashboard`. */
  back: string;
}

/** A change that is confirmed before it is made. */
export interface ConfirmedChange<Subject> {
  path: string;
  /** Who may make it; default: administrators. */
  roles?: readonly Role[];
  isInstallationWide?: boolean;
  /** Returns what is changed, as named by the path. */
  find(visit: Visit): Subject | Promise<Subject>;
  /** `details`: what was wrong with the previous answer. */
  question(
    subject: Subject,
    visit: Visit,
    details?: readonly FieldMessage[],
  ): Confirmation | Promise<Confirmation>;
  make(subject: Subject, visit: Visit): Promise<Reply>;
}

/** The confirmation page and its action, which makes the change, or asks once more and says why it was not made. */
export function confirmedChange<Subject>(change: ConfirmedChange<Subject>): DashboardRoute[] {
  const { path, roles = admins, isInstallationWide, find, question, make } = change;
  return [
    {
      method: 'get',
      path,
      roles,
      isInstallationWide,
      handle: async (visit) => ({ page: questionPage(await question(await find(visit), visit), visit) }),
    },
    {
      method: 'post',
      path,
      roles,
      isInstallationWide,
      async handle(visit) {
        const subject = await find(visit);
        try {
          return await make(subject, visit);
        } catch (error) {
          const { text, status, details } = refusalOf(error);
          // What was answered stays in the fields.
          const asked = await forReader({ ...presentReader(), typed: visit.form }, () =>
            question(subject, visit, details),
          );
          return { page: { ...questionPage(asked, visit, text), status } };
        }
      },
    },
  ];
}

/** Its form is sent to the address of the page. */
function questionPage(asked: Confirmation, { csrf }: Visit, error?: string): Page {
  const { title, section, text, fields, button, isDangerous, back } = asked;
  return {
    title,
    section,
    body: html`<h1>${title}</h1>
<p>${text}</p>
${formError(error)}
<form method="post">${csrf}
${fields}
<div class="actions">${button && html`<button type="submit"${isDangerous && html` class="danger"`}>${button}</button>`}
<a role="button" class="outline secondary" href="/dashboard${back}">Cancel</a></div>
</form>`,
  };
}
