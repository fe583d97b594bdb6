/** Escapes a text for a table cell. */
function cell(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').trim();
}

/** Returns a table, with one row for each array of cells. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(headings), line(headings.map(() => '---')), ...rows.map(line)].join('\n');
}

export const code = (text: string) => `\`${text}\``;

/** Returns a page of the reference; `intro` says what it contains and for whom. */
export function page(title: string, intro: string, ...sections: string[]): string {
  const origin = '<!-- Written by `npm run docs` from the code. Change the code, not this page. -->';
  return `${[`# ${title}`, origin, intro, ...sections].join('\n\n')}\n`;
}
