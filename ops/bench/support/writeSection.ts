import { readFileSync, writeFileSync } from 'node:fs';

/** Puts a section between its markers on a page of results, or at the end when it has none there. */
export function writeSection(page: URL, name: string, text: string): void {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`];
  const old = readFileSync(page, 'utf8');
  const [before, rest] = old.includes(begin) ? old.split(begin) : [`${old.trimEnd()}\n\n`, undefined];
  const after = rest?.split(end)[1] ?? '\n';
  writeFileSync(page, `${before}${begin}\n${text}\n${end}${after}`);
}
