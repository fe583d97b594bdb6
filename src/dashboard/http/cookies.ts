import { hkdfSync } from 'node:crypto';
import cookieParser from 'cookie-parser';
import type { Request, RequestHandler, Response } from 'express';

/** All of the dashboard's pages, and no others of the service, are below it. */
const PATH = '/dashboard';
const KEY_BYTES = 32;

/**
 * Reads the cookies of each request. The key differs from that of sessions, so that no cookie passes for a session.
 */
export function cookies(sessionSecret: Buffer): RequestHandler {
  const key = Buffer.from(hkdfSync('sha256', sessionSecret, '', 'cookies', KEY_BYTES));
  return cookieParser(key.toString('base64'));
}

/** Returns the value of a cookie that this service signed; undefined where there is none. */
export function signedCookie(req: Request, name: string): string | undefined {
  const value: unknown = req.signedCookies[name];
  return typeof value === 'string' ? value : undefined;
}

/** Has the browser keep a signed cookie, only for the dashboard and inaccessible to scripts. */
export function setSignedCookie(req: Request, res: Response, name: string, value: string, ms: number): void {
  res.cookie(name, value, { ...attributesFor(req), signed: true, maxAge: ms });
}

export function clearCookie(req: Request, res: Response, name: string): void {
  res.clearCookie(name, attributesFor(req));
}

/** Returns what every cookie of the dashboard has; `Secure` where browsers reach the service over https. */
export function attributesFor(req: Request) {
  return { path: PATH, httpOnly: true, sameSite: 'lax', secure: req.secure } as const;
}
