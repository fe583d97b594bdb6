import type { Principal } from '../../domain/events/eventMetadata.ts';
import { type Html, html } from './html.ts';
import { code } from './text.ts';

/** The names of the types of principals. */
export const principalTexts: Record<Principal['type'], string> = {
  api_key: 'API key',
  source: 'source',
  user: 'user',
  operator: 'command line',
  service: 'service',
};

/** Returns who it was: the name of the key or user, where it is known, and which of the two. */
export function who({ type, id, name }: Principal & { name: string | null }): Html {
  return html`<strong>${name ?? code(id)}</strong> <span class="muted">(${principalTexts[type]})</span>`;
}
