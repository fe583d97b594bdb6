import type { Request } from 'express';
import type { User } from '../../principals/users/user.ts';
import { browsersOf } from './knownBrowser.ts';
import type { Visit } from './route.ts';

type Form = Visit['form'];

/** A form that was sent when its session had ended: for the user who signed in in that browser last, and for nobody else. */
interface TypedForm {
  userId: string;
  /** Of the page that holds the form, with `/dashboard`. */
  path: string;
  /** Undefined: too long to be kept. */
  fields: Form | undefined;
}

declare module 'express-session' {
  interface SessionData {
    typedForm?: TypedForm | undefined;
  }
}

/** Whoever has no session may leave so much, in characters of JSON. */
const MOST_KEPT = 8_000;

/** What proves who somebody is, or lets somebody in: never kept. */
const secrets = [
  'csrf_token',
  'password',
  'again',
  'present',
  'confirm_password',
  'code',
  'confirm_code',
  'token',
];

/**
 * Keeps what was typed into a form until its user has signed in again. Only a browser that bears the signed cookie of a
 * sign-in can leave anything (docs/decisions/061).
 */
export function keepTypedForm(req: Request, path: string): void {
  const userId = [...browsersOf(req).keys()].at(-1);
  if (userId === undefined || !req.session) return;
  const fields = Object.fromEntries(
    Object.entries(req.body ?? {}).filter(([name]) => !secrets.includes(name)),
  );
  const isShort = JSON.stringify(fields).length <= MOST_KEPT;
  req.session.typedForm = { userId, path, fields: isShort ? (fields as Form) : undefined };
}

/** The same in the session that begins with a sign-in; what somebody else typed is forgotten. */
export function typedFormOf({ session }: Request, { id }: User): TypedForm | undefined {
  return session.typedForm?.userId === id ? session.typedForm : undefined;
}

/** What its user typed into a form of the page that is asked for, once, with a notice; undefined where there is nothing. */
export function takeTypedForm({ req, notice }: Visit): Form | undefined {
  // Parts of a page leave the session alone.
  const typedForm = (req.session as Request['session'] | undefined)?.typedForm;
  if (typedForm === undefined || req.method !== 'GET') return undefined;
  if (pathnameOf(typedForm.path) !== pathnameOf(req.originalUrl)) return undefined;
  req.session.typedForm = undefined;
  notice(
    typedForm.fields === undefined
      ? 'Your session had ended, so nothing was changed. Your entries were too long to keep.'
      : 'Your session had ended, so nothing was changed. Your entries are back in the form, except for passwords and codes. Check them and send the form again.',
  );
  return typedForm.fields;
}

function pathnameOf(path: string): string {
  return path.split('?')[0] as string;
}
