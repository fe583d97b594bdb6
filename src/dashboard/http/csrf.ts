import { doubleCsrf } from 'csrf-csrf';
import type { Request, Response } from 'express';
import { ServiceError } from '../../platform/errors.ts';
import { type Html, html } from '../components/html.ts';
import { attributesFor } from './cookies.ts';
import { sessionIdOf } from './session.ts';

const COOKIE = 'chartledger_csrf';
const FIELD = 'csrf_token';

/**
 * Tokens are in a signed cookie, and bound to the session once there is one: forms before the sign-in need no
 * session.
 */
const { generateCsrfToken, validateRequest } = doubleCsrf({
  // Put there by cookie-parser, which runs before.
  getSecret: (req) => req?.secret as string,
  getSessionIdentifier: (req) => sessionIdOf(req) ?? '',
  cookieName: COOKIE,
  getCsrfTokenFromRequest: (req) => req.body?.[FIELD],
});

/** Returns the hidden field that shows that a form is one of ours. */
export function csrfField(req: Request, res: Response): Html {
  // cookie-parser parses what begins with `j:` as JSON; a token is text.
  if (typeof req.cookies[COOKIE] !== 'string') delete req.cookies[COOKIE];
  res.locals.csrfToken ??= generateCsrfToken(req, res, { cookieOptions: attributesFor(req) });
  return html`<input type="hidden" name="${FIELD}" value="${res.locals.csrfToken}">`;
}

/** Refuses a form that does not contain the token. */
export function requireCsrfToken(req: Request): void {
  if (validateRequest(req)) return;
  throw new ServiceError(
    'permission_denied',
    'This form has expired, or was not sent from the dashboard. Go back, reload the page and send it again.',
  );
}
