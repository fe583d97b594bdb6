import type { Request } from 'express';
import type { DashboardRoute } from '../components/route.ts';

/**
 * Returns the address of the page from which a request was sent, including `/dashboard`, as its browser tells it. A
 * page that was the response to a form has the form's address, at which there may be none: then it is the one on
 * which the form is otherwise.
 */
export function pageBefore(req: Request, { page }: DashboardRoute): string | undefined {
  const shown = URL.parse(req.get('HX-Current-URL') ?? req.get('Referer') ?? '');
  if (shown === null) return undefined;
  const isOwn = shown.pathname === req.originalUrl.split('?')[0];
  if (page === undefined || !isOwn) return shown.pathname + shown.search;
  return req.baseUrl + page.replace(/:(\w+)/g, (_, name) => encodeURIComponent(String(req.params[name])));
}
