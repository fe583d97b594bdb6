import { type Html, html } from '../shell/html.ts';

/** Text with what the document uses of CommonMark: paragraphs, `code` and **strong**. */
export function markdown(text: string): Html[] {
  return text.split(/\n{2,}/).map((paragraph) => html`<p>${inline(paragraph)}</p>`);
}

/** The same, of one line. */
export function inline(text: string): Html[] {
  return text
    .split(/(`[^`]+`|\*\*[^*]+\*\*)/)
    .map((part) =>
      part.startsWith('`')
        ? html`<code>${part.slice(1, -1)}</code>`
        : part.startsWith('**')
          ? html`<strong>${part.slice(2, -2)}</strong>`
          : html`${part}`,
    );
}
