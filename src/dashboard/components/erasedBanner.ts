import { type Html, html } from './html.ts';
import { time } from './text.ts';

/** Returns what replaces something of a kind that was erased. */
export function erasedBanner(kind: string, erasedAt: string): Html {
  return html`<p class="banner"><strong>This ${kind} was erased</strong> at ${time(erasedAt)}. Nothing that was sent about it can be read any more. Who erased it, when and why is kept.</p>`;
}
