import { hkdfSync } from 'node:crypto';
import type { Request } from 'express';
import { SEALING_KEY_BYTES, seal, unseal } from '../../sealing.ts';
import type { Reply, Visit } from './route.ts';

declare module 'express-session' {
  interface SessionData {
    /** What the page with that path shows once. */
    shownOnce?: { path: string; sealed: string } | undefined;
  }
}

/**
 * Leads to a page, `path` below `/dashboard`, that shows a secret once, so that reloading it does not create a second
 * one. Until then the session holds it, sealed under its own id, of which the store knows only a hash
 * (docs/decisions/061).
 */
export function showOnce({ req }: Visit, path: string, secret: object): Reply {
  req.session.shownOnce = { path, sealed: seal(keyOf(req), path, JSON.stringify(secret)) };
  return { redirect: path };
}

/**
 * Returns what the page with that path is to show, in the shape passed to `showOnce`; undefined from the second time
 * on.
 */
export function takeShownOnce<Secret extends object>({ req }: Visit, path: string): Secret | undefined {
  const { shownOnce } = req.session;
  if (shownOnce?.path !== path) return undefined;
  req.session.shownOnce = undefined;
  return JSON.parse(unseal(keyOf(req), path, shownOnce.sealed));
}

function keyOf({ sessionID }: Request): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', sessionID, '', 'shown once', SEALING_KEY_BYTES));
}
