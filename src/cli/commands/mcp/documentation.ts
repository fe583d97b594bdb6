import { globSync, readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';

/** Decisions and the pages for contributors explain the code, not its use. */
const folders = ['getting-started', 'guides', 'concepts', 'operate', 'reference', 'compliance', 'dashboard'];
const root = dirname(findPackageJSON('.', import.meta.url) as string);

/** Sections are cut to this many characters. */
const MOST_CHARACTERS = 3_000;
/** A word in a title counts as much as this many in the text. */
const TITLE_WEIGHT = 8;
/** More mentions than these do not make a section more relevant. */
const MOST_MENTIONS = 5;

/** A section of the documentation. */
export interface Section {
  /** Path of the page. */
  page: string;
  /** Title of the page, and that of the section. */
  title: string;
  section: string;
}

let sections: Section[] | undefined;

function allSections(): Section[] {
  const files = folders.flatMap((folder) => globSync(`docs/${folder}/**/*.md`, { cwd: root }));
  return files.toSorted().flatMap((page) => {
    const [beginning = '', ...parts] = readFileSync(join(root, page), 'utf8').split(/^## /m);
    const title = /^# (.+)$/m.exec(beginning)?.[1] ?? page;
    const named = parts.map((part) => {
      const end = part.indexOf('\n');
      return { page, title: `${title}: ${part.slice(0, end)}`, section: part.slice(end).trim() };
    });
    return [{ page, title, section: beginning.replace(/^# .+$/m, '').trim() }, ...named];
  });
}

/** Returns the sections that contain most of the words of a question, the most relevant first. */
export function findSections(question: string, limit: number): Section[] {
  sections ??= allSections();
  const words = [...new Set(question.toLowerCase().match(/[\p{L}\p{N}_]{3,}/gu) ?? [])];
  const relevance = ({ title, section }: Section) => {
    const mentions = words.map((word) => {
      const inTitle = title.toLowerCase().includes(word) ? TITLE_WEIGHT : 0;
      return inTitle + Math.min(section.toLowerCase().split(word).length - 1, MOST_MENTIONS);
    });
    const found = mentions.filter((count) => count > 0).length;
    return found * found * mentions.reduce((sum, count) => sum + count, 0);
  };
  return sections
    .map((section) => ({ section, relevance: relevance(section) }))
    .filter((one) => one.relevance > 0)
    .toSorted((a, b) => b.relevance - a.relevance)
    .slice(0, limit)
    .map(({ section }) => ({ ...section, section: section.section.slice(0, MOST_CHARACTERS) }));
}
