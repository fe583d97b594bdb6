import type { RecordNames } from '../../modules/records/queries/recordNames.ts';
import { type HtmlValue, html } from './html.ts';
import { fieldValue } from './recordFields.ts';
import { recordPath } from './recordPaths.ts';

/** Returns a link to a record by its name, or by its id where the name is not known. */
export function referredLink(
  workspace: string,
  kind: string,
  id: unknown,
  names: RecordNames | undefined,
): HtmlValue {
  if (typeof id !== 'string') return fieldValue(undefined);
  const link = (text: string) => html`<a href="/dashboard${recordPath(workspace, kind, id)}">${text}</a>`;
  const name = names?.nameOf(kind, id);
  return name === undefined ? link(id) : html`${link(name)}<br><small class="muted">${id}</small>`;
}
