import { type DashboardPorts, dashboardRoutes } from '../../src/dashboard/app.ts';

/** Routes that show nothing by themselves: they lead on, give a file, or a part of a page. */
const noPages = [
  '/',
  '/session',
  '/sign-in/openid-connect',
  '/sign-in/openid-connect/callback',
  '/workspaces/:workspace/figures',
  '/workspaces/:workspace/events/news',
  '/workspaces/:workspace/audit/export',
  ...['export', 'simulation/state', 'scorecard/state', 'scorecard/export'].map(
    (part) => `/workspaces/:workspace/readiness/${part}`,
  ),
  '/workspaces/:workspace/keys/:id/made',
  '/workspaces/:workspace/webhooks/:id/made',
  '/users/:user/invited',
  '/audit/export',
  '/workspaces/:workspace/messages/:message/download',
  '/workspaces/:workspace/records/patients/:id/disclosures/export',
  ...['state', 'head', 'verified-head', 'public-key'].map(
    (part) => `/workspaces/:workspace/evidence/${part}`,
  ),
  ...['download', 'preview'].map(
    (way) => `/workspaces/:workspace/records/encounters/:id/documents/:documentId/${way}`,
  ),
  '/workspaces/:workspace/records/:kind/:id/certificate',
  '/workspaces/:workspace/records/:kind/:id/proof',
];

/** The path of every page of the dashboard, as its route has it. */
export const dashboardPages = dashboardRoutes({ identityProvider: {} } as DashboardPorts)
  .filter(({ method, path }) => method === 'get' && !noPages.includes(path))
  .map(({ path }) => path);

/**
 * The address of the page of a route, below `/dashboard`. `things` are what a route names, by its name (`:workspace`), by the collection
 * that an `:id` is of (`keys`), or whole addresses by the route.
 */
export function addressOf(path: string, things: Readonly<Record<string, string>>): string {
  const [, collection = ''] = /\/(keys|webhooks|encounters|requests)\/:id/.exec(path) ?? [];
  const filled = path.replace(/:\w+/g, (name) =>
    encodeURIComponent((name === ':id' && things[collection]) || (things[name] ?? '')),
  );
  return things[path] ?? filled;
}

/** The file of a page's screenshot in `docs`. */
export function screenshotFile(path: string): string {
  const name = path.replace('/workspaces/:workspace', '/workspace').slice(1).replaceAll(/[/:]+/g, '-');
  return `docs/dashboard/images/${name}.webp`;
}
