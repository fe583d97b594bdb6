import { attemptsBefore } from '../../modules/webhooks/attempts.ts';
import { type Html, html } from '../components/html.ts';
import { integrators } from '../components/route.ts';
import { table } from '../components/table.ts';
import { badge, empty } from '../components/text.ts';
import { webhookPath, webhooksPath } from '../components/webhookPaths.ts';
import { totalledChart } from './overviewCharts.ts';
import type { Overview } from './overviewFigures.ts';
import { linked } from './overviewLinks.ts';
import { type Bar, ranges } from './ranges.ts';
import { countResults, share, type WebhookResults } from './webhookResults.ts';

/** Returns the attempts that were not accepted; a bar leads to those of the webhook with the most of them. */
export function webhookSeries({ bars, results, range, workspace, may }: Overview): Html {
  if (results.length === 0) {
    return empty(
      html`No webhooks.${may(integrators) && html` <a id="new-webhook" href="/dashboard${webhooksPath(workspace)}/new">Create one</a>`}`,
    );
  }
  const points = bars.map((bar) => {
    const failures = results
      .map(({ webhook, results: all }) => ({ id: webhook.id, count: failuresIn(bar, all) }))
      .sort((a, b) => b.count - a.count);
    const value = failures.reduce((all, { count }) => all + count, 0);
    const path = failures[0] && attemptsPath(workspace, failures[0].id, bar.to);
    return { name: bar.name, value, ...linked(may(integrators) && value > 0, path, `attempts-${bar.from}`) };
  });
  return html`${totalledChart('Failed attempts', points, range, 'bad')}
${results.some(({ isWhole }) => !isWhole) && html`<p class="muted">For webhooks with many attempts, only the last ones are counted.</p>`}`;
}

function failuresIn({ from, to }: Bar, results: WebhookResults['results']): number {
  return results.filter(({ at, isTaken }) => !isTaken && at >= from && at < to).length;
}

/** Returns the path of the attempts before a moment. */
function attemptsPath(workspace: string, id: string, before: number): string {
  return `${webhookPath(workspace, id)}?${new URLSearchParams({ page_token: attemptsBefore(id, before) }).toString()}#attempts`;
}

/** Returns each webhook, for administrators: nobody else may see addresses. */
export function webhookTable({ results, range, workspace, may }: Overview): Html | undefined {
  if (!may(integrators) || results.length === 0) return undefined;
  return table<WebhookResults>(
    `Webhook attempts in ${ranges[range].words}`,
    [
      {
        title: 'Webhook',
        isHeader: true,
        cell: ({ webhook: { id, url } }) =>
          html`<a id="webhook-${id}" href="/dashboard${webhookPath(workspace, id)}">${url}</a>`,
      },
      {
        title: 'Attempts',
        cell: ({ results: all, isWhole }) =>
          `${isWhole ? '' : 'the last '}${all.length.toLocaleString('en-US')}`,
      },
      {
        title: 'Delivered',
        cell: ({ results: all }) => {
          const { attempts, notTaken } = countResults(all);
          return attempts > 0 && share(attempts - notTaken, attempts);
        },
      },
    ],
    results,
  );
}

/** Returns the present state of the webhooks. */
export function webhookLine({ webhooks: { disabled, failing }, workspace, may }: Overview): Html {
  if (disabled + failing === 0) return html`<p>${badge('No problems', 'good')}</p>`;
  return html`<p class="line">${disabled > 0 && badge(`${disabled} disabled`, 'bad')}
${failing > 0 && badge(`${failing} failing`, 'bad')}
${may(integrators) && html`<a id="to-webhooks" href="/dashboard/workspaces/${workspace}/webhooks">View webhooks</a>`}</p>`;
}
