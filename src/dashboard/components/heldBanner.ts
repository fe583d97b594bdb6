import { type Holding, holdingText } from '../../modules/erasure/holdsOver.ts';
import { holdsPath } from './holdPaths.ts';
import { type Html, html } from './html.ts';

/** Returns the banner on the pages of a record that legal holds protect; `kind` is the record's. */
export function heldBanner(workspace: string, kind: string, holding: Holding | undefined): Html | undefined {
  if (holding === undefined) return undefined;
  return html`<p class="banner"><strong>This ${kind} cannot be erased:</strong> ${holdingText(holding)}. <a href="/dashboard${holdsPath(workspace)}">Legal holds</a></p>`;
}
