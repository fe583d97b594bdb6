import type { FieldLineage } from '../../modules/integrations/replay/readLineage.ts';
import { rulesOf } from '../../modules/integrations/rulesOf.ts';
import type { SourceFormat } from '../../modules/integrations/source.ts';
import { type Html, html } from './html.ts';
import { code } from './text.ts';

/** Returns where in a message a field comes from, by which rule and setting of the source. */
export function originCell(
  format: SourceFormat,
  { at, rule, setting }: Pick<FieldLineage, 'at' | 'rule' | 'setting'>,
): Html {
  const found = rulesOf[format].find(({ name }) => name === rule);
  return html`${at === null ? html`<span class="muted">not from the message</span>` : code(at)}${
    found && html`<br><small class="muted">rule ${code(found.name)}: ${plain(found.from)}</small>`
  }${setting !== null && html`<br><small class="muted">source setting: ${code(setting)}</small>`}`;
}

/** Returns a text of the guides without its markup. */
function plain(text: string): string {
  return text.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1').replaceAll('`', '');
}
