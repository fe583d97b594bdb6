import { confirmedChange } from '../components/forms.ts';
import { type DashboardRoute, everyone } from '../components/page.ts';
import { recordsSection } from '../components/recordTable.ts';
import { REASON_ROUTE, REASON_TEXT, REASON_TITLE, reasonField } from '../http/reason.ts';
import { pathAfter } from '../http/session.ts';

/** `…/reason`: why the user reads in a workspace. Pages that need it lead here, and are named by `next`. */
export function reasonRoutes(): DashboardRoute[] {
  return confirmedChange({
    path: REASON_ROUTE,
    roles: everyone,
    find: ({ workspace, req }) => pathAfter(req.query.next, `/workspaces/${workspace}`),
    question: (next, { workspace, reason }) => ({
      title: REASON_TITLE,
      section: recordsSection,
      text: REASON_TEXT,
      fields: reasonField(reason),
      button: 'Continue',
      back: reason === undefined ? `/workspaces/${workspace}` : next,
    }),
    // The reason was noted with the form (`withReason`).
    make: async (next) => ({ redirect: next }),
  });
}
