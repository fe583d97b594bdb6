/** What may stand in a cell of a table. */
function cell(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').trim();
}

/** A table, with one row for each array of cells. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(headings), line(headings.map(() => '---')), ...rows.map(line)].join('\n');
}

export const code = (text: string) => `\`${text}\``;

/** A page of the reference; `intro` says what it holds and for whom. */
export function page(title: string, intro: string, ...sections: string[]): string {
  const origin = '<!-- Written by `npm run docs` from the code. Change the code, not this page. -->';
  return `${[`# ${title}`, origin, intro, ...sections].join('\n\n')}\n`;
}
