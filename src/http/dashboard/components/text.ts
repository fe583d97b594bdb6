import { type Html, type HtmlValue, html } from '../html.ts';

/** A moment, in UTC; the script shows it in the reader's own time zone on hovering. */
export function time(iso: string): Html {
  return html`<time datetime="${iso}" title="${iso}">${iso.slice(0, 19).replace('T', ' ')} UTC</time>`;
}

/** A word for a state, with a colour of its own beside it. */
export function badge(text: string, tone: 'good' | 'bad' | 'neutral'): Html {
  return html`<span class="badge badge-${tone}">${text}</span>`;
}

/** A text that programs use: an id, a key. */
export function code(text: string): Html {
  return html`<code>${text}</code>`;
}

/** What stands where a list is empty, with what to do about it. */
export function empty(text: HtmlValue): Html {
  return html`<p class="empty">${text}</p>`;
}

/** A text that is shown only now, with a button that copies it. */
export function secretOnce(label: string, value: string): Html {
  return html`<div class="secret">
<label for="secret-value">${label}</label>
<div class="secret-line"><input id="secret-value" type="text" readonly value="${value}" autocomplete="off" spellcheck="false"><button type="button" data-copy="secret-value">Copy</button></div>
</div>`;
}
