import type { CreatedKey } from '../../principals/keys/KeyManager.ts';
import { limitSentences } from '../../principals/keys/keyLimits.ts';
import { type HtmlValue, html } from '../shell/html.ts';
import type { Page } from '../shell/route.ts';
import { code, secretOnce } from '../ui/text.ts';

export const keysSection = 'API keys';

/** The address of the keys of a workspace, below `/dashboard`. */
export function keysPath(workspace: string): string {
  return `/workspaces/${workspace}/keys`;
}

/** The page of a key just made: the only one that ever shows the key itself. */
export function keyMadePage(
  { id, name, workspace, permissions, key, ...limits }: CreatedKey,
  text: HtmlValue,
): Page {
  return {
    title: 'API key created',
    section: keysSection,
    body: html`<h1>API key created</h1>
${secretOnce('The key', key)}
<p><strong>Copy it now: it is shown only this once.</strong> Whoever has it acts in its name: keep it in a store for secrets.</p>
<p>${name} (${code(id)}), permissions: ${permissions.join(', ') || 'none'}. ${text} ${limitSentences(limits).join(' ')}</p>
<p><a role="button" class="outline secondary" href="/dashboard${keysPath(workspace)}">To the API keys</a></p>`,
  };
}
