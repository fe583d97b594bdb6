import { randomBytes } from 'node:crypto';
import type { Request, Response } from 'express';
import { setSignedCookie, signedCookie } from './cookies.ts';

const COOKIE = 'chartledger_browser';
const KEPT_MS = 180 * 24 * 3_600_000;
const ID_BYTES = 16;
/** Maximum number of users remembered per browser: those who signed in last. */
const MOST_USERS = 10;

/** Returns the ids of the request's browser, by the ids of the users who have signed in with it before. */
export function browsersOf(req: Request): Map<string, string> {
  const pairs = (signedCookie(req, COOKIE) ?? '').split(' ').filter(Boolean);
  return new Map(pairs.map((pair) => pair.split(':') as [string, string]));
}

/** Has the browser remember that a user has signed in with it. */
export function rememberBrowser(req: Request, res: Response, userId: string): void {
  const browsers = browsersOf(req);
  const id = browsers.get(userId) ?? randomBytes(ID_BYTES).toString('base64url');
  browsers.delete(userId);
  const pairs = [...browsers, [userId, id]].slice(-MOST_USERS).map((pair) => pair.join(':'));
  setSignedCookie(req, res, COOKIE, pairs.join(' '), KEPT_MS);
}
