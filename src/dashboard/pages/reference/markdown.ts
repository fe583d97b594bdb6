import { type Html, html } from '../../components/html.ts';

/** Renders the parts of CommonMark that the document uses: paragraphs, `code` and **strong**. */
export function markdown(text: string): Html[] {
  return text.split(/\n{2,}/).map((paragraph) => html`<p>${inline(paragraph)}</p>`);
}

/** The same, for a single line. */
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
