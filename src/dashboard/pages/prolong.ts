import { html } from '../components/html.ts';
import type { DashboardRoute } from '../components/route.ts';
import { sessionSeconds } from '../http/session.ts';

/** Prolongs the session of a page that stays open, and returns for how many seconds. */
export function prolongRoutes(): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/session',
      roles: 'signed-in',
      isForSetup: true,
      handle: async ({ req }) => ({ fragment: html`${sessionSeconds(req)}` }),
    },
  ];
}
