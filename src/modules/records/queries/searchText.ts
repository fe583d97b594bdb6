import { z } from 'zod';
import { dateTerm, initialTerm, wholeTerm } from '../../../domain/records/searchTerms.ts';
import { dayIn, isYear, joinedWord, wordsOf } from '../../../domain/records/searchWords.ts';
import type { TermPattern } from '../../../storage/readModels.ts';

/**
 * What a search is for, as far as the form of its words shows: a date, a number, something with digits as in ids, or
 * a name.
 */
export const searchedFor = ['name', 'id', 'date', 'number'] as const;
export type SearchedFor = (typeof searchedFor)[number];

/** The ways to match, from the best fit to the weakest. */
export const matches = ['whole', 'words', 'beginnings'] as const;
export type Match = (typeof matches)[number];

/** Maximum number of parts; words with a lot of punctuation may have more, which are dropped. */
const MAX_PATTERNS = 16;

const MAX_TEXT = 200;
const MAX_WORDS = 8;

/** What people may enter into a search. */
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

/** The terms that each word of a text asks for; all words have to match. */
type Words = readonly (readonly TermPattern[])[];

/** Returns search input with one blank between words and none around them. */
export function tidied(text: string): string {
  return text.trim().replace(/\s+/gu, ' ');
}

/**
 * Returns the patterns that match a text, for each way to match; a text without words and numbers matches only as a
 * whole.
 */
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
  /** What else it may stand for: a day or a year. */
  terms: string[];
  /**
   * It is followed by punctuation, so it is not a beginning: of `patient-12`, `12` may begin a longer word, `patient`
   * cannot.
   */
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

/** A single letter matches only initials of names: everything that begins with it would be too much. */
function beginningOf(word: string): TermPattern[] {
  return [...word].length === 1 ? [{ term: word }, { term: initialTerm(word) }] : [{ beginning: word }];
}

/** Returns what the words of a text look like, without duplicates. */
export function looksFor(text: string): SearchedFor[] {
  const sorts = text.split(' ').map((word): SearchedFor => {
    if (dayIn(word) !== undefined || isYear(word)) return 'date';
    if (/^[\d\s./-]+$/.test(word)) return 'number';
    return /\d/.test(word) ? 'id' : 'name';
  });
  return searchedFor.filter((sort) => sorts.includes(sort));
}

/** Whether terms contain, for each word, one that it asks for. Without words nothing matches. */
export function hasTerms(terms: ReadonlySet<string>, words: Words): boolean {
  const fits = (pattern: TermPattern) =>
    'term' in pattern
      ? terms.has(pattern.term)
      : [...terms].some((term) => term.startsWith(pattern.beginning));
  return words.length > 0 && words.every((patterns) => patterns.some(fits));
}
