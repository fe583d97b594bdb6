import { sumTallies } from '../../../projections/auditAggregation.ts';
import type { AppPorts } from '../../api/routes/index.ts';
import { readTallies } from '../../modules/audit/trail.ts';
import { readTally, readTrend } from '../../modules/readiness/counts.ts';
import { webhookProblems } from '../../modules/webhooks/manager.ts';
import {
  type Html,
  html,
  integrators,
  recordReaders,
  requestReaders,
  type Visit,
} from '../components/page.ts';
import { badge, dayText, time } from '../components/text.ts';
import { messagesPath, requestsPath, webhookPath, worklistPath } from '../components/urls.ts';
import { total } from './overviewFigures.ts';

export type AttentionPorts = Pick<
  AppPorts,
  'eventLog' | 'readModels' | 'stateStore' | 'webhooks' | 'messages'
>;

/** Waiting messages that are counted. */
const MOST_COUNTED = 100;
const DAY_MS = 86_400_000;

/**
 * Resolves with what in a workspace needs somebody, each with a link for those who may follow it: webhooks that fail or are disabled,
 * messages that wait, encounters newly blocked, requests refused since yesterday. Rejects with `unavailable`.
 */
export async function attention(ports: AttentionPorts, visit: Visit): Promise<Html> {
  const { workspace, may } = visit;
  const parts = await Promise.all([
    webhookItems(ports, visit),
    may(requestReaders) ? waitingMessages(ports, workspace) : [],
    may(recordReaders) ? newlyBlocked(ports, workspace) : [],
    refusedSince(ports, visit),
  ]);
  const items = parts.flat();
  return html`<section class="attention" aria-label="Needs attention"><h2>Needs attention</h2>
${items.length === 0 ? html`<p>${badge('Nothing', 'good')} No webhook fails, no message waits, nothing is newly blocked, and nothing was refused since yesterday.</p>` : html`<ul>${items.map((item) => html`<li>${item}</li>`)}</ul>`}
</section>`;
}

/** Returns a count with what is counted, as a link where it may be followed; `path` is a full address. */
function item(count: string, what: string, path: string | undefined, more?: Html): Html {
  const text = html`<strong>${count}</strong> ${what}`;
  return html`${path === undefined ? text : html`<a href="${path}">${text}</a>`}${more}`;
}

async function webhookItems(ports: AttentionPorts, { workspace, may }: Visit): Promise<Html[]> {
  const all = await webhookProblems(ports, workspace);
  const unwanted = all.filter(({ webhook }) => webhook.disabledReason !== 'caller');
  return unwanted.map(({ webhook: { id, url }, failingSince }) => {
    const words = failingSince === undefined ? 'is disabled' : 'fails';
    const since =
      failingSince === undefined
        ? undefined
        : html` <small class="muted">since ${time(new Date(failingSince).toISOString())}</small>`;
    return may(integrators)
      ? html`<a href="/dashboard${webhookPath(workspace, id)}">Webhook <bdi>${url}</bdi> ${words}</a>${since}`
      : html`A webhook ${words}${since}`;
  });
}

async function waitingMessages({ messages }: AttentionPorts, workspace: string): Promise<Html[]> {
  const { items, next_page_token } = await messages.list(workspace, {
    limit: MOST_COUNTED,
    rejected: true,
    pageToken: undefined,
  });
  const count = items.length;
  if (count === 0) return [];
  const path = `/dashboard${messagesPath(workspace, { rejected: 'yes' })}`;
  const isOne = count === 1 && next_page_token === null;
  return [
    item(
      `${count}${next_page_token === null ? '' : '+'}`,
      isOne ? 'message is waiting' : 'messages are waiting',
      path,
    ),
  ];
}

async function newlyBlocked({ eventLog, readModels }: AttentionPorts, workspace: string): Promise<Html[]> {
  const [now, [before]] = await Promise.all([
    readTally(readModels, workspace),
    readTrend(eventLog, workspace, 1),
  ]);
  const more = (now.states.blocked ?? 0) - (before?.tally.states.blocked ?? 0);
  if (more <= 0) return [];
  const noun = more === 1 ? 'encounter' : 'encounters';
  const what =
    before === undefined
      ? `${noun} blocked`
      : `more ${noun} blocked than at the end of ${dayText(before.day)}`;
  return [item(more.toLocaleString('en-US'), what, worklistPath(workspace, { state: 'blocked' }))];
}

async function refusedSince(ports: AttentionPorts, { workspace, may }: Visit): Promise<Html[]> {
  const yesterday = Math.floor(Date.now() / DAY_MS) - 1;
  const tallies = await readTallies(ports, workspace, 'day', { first: yesterday, count: 2 });
  const count = total(sumTallies(0, tallies).refused);
  if (count === 0) return [];
  const from = new Date(yesterday * DAY_MS).toISOString();
  const path = may(requestReaders) ? `/dashboard${requestsPath(workspace, { from })}` : undefined;
  const what = `${count === 1 ? 'request' : 'requests'} refused since yesterday`;
  return [item(count.toLocaleString('en-US'), what, path)];
}
