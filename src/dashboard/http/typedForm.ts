import type { Request } from 'express';
import type { User } from '../../modules/auth/user.ts';
import type { Visit } from '../components/route.ts';
import { browsersOf } from './knownBrowser.ts';

type Form = Visit['form'];

/** A form that was sent after its session had ended: only for the user who last signed in with that browser. */
interface TypedForm {
  userId: string;
  /** Of the page with the form, including `/dashboard`. */
  path: string;
  /** Undefined: too long to be kept. */
  fields: Form | undefined;
}

declare module 'express-session' {
  interface SessionData {
    typedForm?: TypedForm | undefined;
  }
}

/** How much a visitor without a session may leave, in characters of JSON. */
const MOST_KEPT = 8_000;

/** What proves somebody's identity, or admits somebody: never kept. */
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
 * Keeps what was typed into a form until its user has signed in again. Only a browser with the signed cookie of a
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

/** Returns the same in the session that begins with a sign-in; what somebody else typed is forgotten. */
export function typedFormOf({ session }: Request, { id }: User): TypedForm | undefined {
  return session.typedForm?.userId === id ? session.typedForm : undefined;
}

/**
 * Returns what its user typed into a form of the requested page, once, with a notice; undefined where there is
 * nothing.
 */
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
