import type { NewSecret } from '../../webhooks/settings/WebhookManager.ts';
import { html } from '../shell/html.ts';
import type { Page } from '../shell/route.ts';
import { code, secretOnce, time } from '../ui/text.ts';
import { webhookPath, webhooksSection } from './webhookPaths.ts';

/** The page of a secret just made: the only one that ever shows it. */
export function webhookSecretPage(workspace: string, title: string, { webhook, secret }: NewSecret): Page {
  const { id, url, previous_secret_expires_at: until } = webhook;
  return {
    title,
    section: webhooksSection,
    body: html`<h1>${title}</h1>
${secretOnce('The secret that signs the messages', secret)}
<p><strong>Copy it now: it is shown only this once.</strong> Your endpoint verifies the signature of every message with it, as Standard Webhooks has it.</p>
<p>Webhook ${code(id)}, to ${url}.${until !== null && html` The previous secret signs, too, until ${time(until)}.`}</p>
<p><a role="button" class="outline secondary" href="/dashboard${webhookPath(workspace, id)}">To the webhook</a></p>`,
  };
}
