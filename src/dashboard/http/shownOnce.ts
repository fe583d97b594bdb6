import type { Reply, Visit } from '../components/route.ts';

declare module 'express-session' {
  interface SessionData {
    /** What the page with that path shows once. */
    shownOnce?: { path: string; secret: object } | undefined;
  }
}

/**
 * Leads to a page, `path` below `/dashboard`, that shows a secret once, so that reloading it does not create a second
 * one. Until then the session holds it.
 */
export function showOnce({ req }: Visit, path: string, secret: object): Reply {
  req.session.shownOnce = { path, secret };
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
  return shownOnce.secret as Secret;
}
