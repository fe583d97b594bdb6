import { type FirstStep, firstSteps } from '../../../projections/auditFirsts.ts';
import { type Html, type HtmlValue, html } from '../components/html.ts';
import { integrators } from '../components/route.ts';
import { badge, time } from '../components/text.ts';
import type { Overview } from './overviewFigures.ts';
import { quoted } from './reference/curlSample.ts';

interface Step {
  title: string;
  /** What to do, until it is done. */
  text(overview: Overview): HtmlValue;
  /** What to send. */
  curl?(address: string): string;
}

const KEY = '-H "x-api-key: $CHARTLEDGER_API_KEY"';

const steps: Record<FirstStep, Step> = {
  key: {
    title: 'Create an API key',
    text: ({ workspace, may }) =>
      may(integrators)
        ? html`<a href="/dashboard/workspaces/${workspace}/keys/new">Create an API key</a>. It is shown once: store it in <code>CHARTLEDGER_API_KEY</code>.`
        : 'An administrator or integrator creates one on the page “API keys”. It is shown once.',
  },
  record: {
    title: 'Send the first record',
    text: () =>
      html`With the key in <code>CHARTLEDGER_API_KEY</code>; it needs the permission <code>write</code>:`,
    curl: (address) =>
      `curl ${quoted(`${address}/integration/payers`)} ${KEY} \\\n  --json ${quoted('{"id": "payer-1", "name": "Aetna"}')}`,
  },
  events: {
    title: 'Read the first event',
    text: () => html`Every change is an event. The key needs the permission <code>events</code>:`,
    curl: (address) => `curl ${quoted(`${address}/events?limit=10`)} ${KEY}`,
  },
  webhook: {
    title: 'Receive events by webhook',
    text: ({ workspace, may }) =>
      html`${may(integrators) ? html`<a href="/dashboard/workspaces/${workspace}/webhooks/new">Create a webhook</a>, or send this` : 'Send this'} with your own URL and a key that has the permission <code>webhooks</code>:`,
    curl: (address) =>
      `curl ${quoted(`${address}/integration/webhooks`)} ${KEY} \\\n  --json ${quoted('{"url": "https://billing.example/hooks"}')}`,
  },
};

/**
 * Returns the steps to bring a workspace into use, each checked off once done. `address` is the one to which the
 * calls go. Undefined where all are done.
 */
export function onboarding(overview: Overview, address: string): Html | undefined {
  const { firsts } = overview;
  const done = firstSteps.filter((step) => firsts[step] !== undefined).length;
  if (done === firstSteps.length) return undefined;
  return html`<section class="card onboarding"><h2>Get started</h2>
<p class="muted">${done} of ${firstSteps.length} steps done. This card disappears after the last one.</p>
<ol>${firstSteps.map((step) => {
    const at = firsts[step];
    const { title } = steps[step];
    return html`<li><h3>${title} ${at !== undefined && html`${badge('done', 'good')} <small class="muted">${time(at)}</small>`}</h3>
${at === undefined && toDo(step, overview, address)}</li>`;
  })}</ol>
</section>`;
}

function toDo(step: FirstStep, overview: Overview, address: string): Html {
  const { title, text, curl } = steps[step];
  const id = `first-${step}`;
  return html`<p>${text(overview)}</p>
${
  curl &&
  html`<div class="sample"><button type="button" class="outline secondary" data-copy="${id}" aria-label="Copy the call: ${title}">Copy</button>
<pre id="${id}" tabindex="0" aria-label="${title}"><code>${curl(address)}</code></pre></div>`
}`;
}
