import { z } from 'zod';
import type { TermPattern } from '../../ports/readModels.ts';
import { dateTerm, initialTerm, wholeTerm } from '../../records/searchTerms.ts';
import { dayIn, isYear, joinedWord, wordsOf } from '../../records/searchWords.ts';

/** What a search is for, as far as the form of its words tells: a date, a number, what has digits as ids have them, or a name. */
export const searchedFor = ['name', 'id', 'date', 'number'] as const;
export type SearchedFor = (typeof searchedFor)[number];

/** How something was found, from what fits best to what fits least. */
export const matches = ['whole', 'words', 'beginnings'] as const;
export type Match = (typeof matches)[number];

/** Beyond these a word of many signs has no further parts. */
const MAX_PATTERNS = 16;

const MAX_TEXT = 200;
const MAX_WORDS = 8;

/** What people may write into a search. */
export const searchTextSchema = z
  .string()
  .max(MAX_TEXT)
  .refine((text) => tidied(text) !== '', { error: 'must not be empty' })
  .refine((text) => tidied(text).split(' ').length <= MAX_WORDS, {
    error: `must have at most ${MAX_WORDS} words`,
  })
  .meta({
    description: `Words that must all match, up to ${MAX_WORDS} words and ${MAX_TEXT} characters`,
    examples: ['lopez mar 1984'],
  });

/** What each word of a text asks for; all of them have to be there. */
type Words = readonly (readonly TermPattern[])[];

/** What people wrote into a search, with one blank between its words and none around. */
export function tidied(text: string): string {
  return text.trim().replace(/\s+/gu, ' ');
}

/** What a text is found by, for each way to match; a text without words and numbers only as a whole. */
export function patternsOf(text: string): Record<Match, Words> {
  const words = text.split(' ').flatMap(partsOf).slice(0, MAX_PATTERNS);
  const whole = wholeTerm(text);
  return {
    whole: [[{ term: whole }]],
    words: words.map(({ word, terms }) => [word, ...terms].map((term) => ({ term }))),
    beginnings: words.map(({ word, terms, isWhole }) => [
      ...(isWhole ? [{ term: word }] : beginningOf(word)),
      ...terms.map((term) => ({ term })),
    ]),
  };
}

interface Part {
  word: string;
  /** What it may stand for, too: a day or a year. */
  terms: string[];
  /** It is followed by a sign, so it is no beginning: the 12 of `patient-12` may be one, `patient` is not. */
  isWhole: boolean;
}

function partsOf(word: string): Part[] {
  const day = dayIn(word);
  if (day !== undefined) return [{ word: joinedWord(word), terms: [dateTerm(day)], isWhole: false }];
  const parts = wordsOf(word);
  return parts.map((part, at) => ({
    word: part,
    terms: isYear(part) ? [dateTerm(part)] : [],
    isWhole: at < parts.length - 1,
  }));
}

/** One letter is what names begin with: everything that begins with it would be too much. */
function beginningOf(word: string): TermPattern[] {
  return [...word].length === 1 ? [{ term: word }, { term: initialTerm(word) }] : [{ beginning: word }];
}

/** What the words of a text look like, each once. */
export function looksFor(text: string): SearchedFor[] {
  const sorts = text.split(' ').map((word): SearchedFor => {
    if (dayIn(word) !== undefined || isYear(word)) return 'date';
    if (/^[\d\s./-]+$/.test(word)) return 'number';
    return /\d/.test(word) ? 'id' : 'name';
  });
  return searchedFor.filter((sort) => sorts.includes(sort));
}

/** Whether terms have, of each word, one that it asks for. Without words nothing does. */
export function hasTerms(terms: ReadonlySet<string>, words: Words): boolean {
  const fits = (pattern: TermPattern) =>
    'term' in pattern
      ? terms.has(pattern.term)
      : [...terms].some((term) => term.startsWith(pattern.beginning));
  return words.length > 0 && words.every((patterns) => patterns.some(fits));
}
