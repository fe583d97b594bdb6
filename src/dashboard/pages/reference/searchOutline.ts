import type { Entry, Group } from './outline.ts';

/** An entry that was found, and the title of its group. */
export interface FoundEntry extends Entry {
  group: string;
}

/** The weight of a word by where it is found. */
const WORTH = { title: 9, names: 3, description: 1 } as const;
const places = Object.keys(WORTH) as (keyof typeof WORTH)[];

/** Returns the entries that contain every word of a text, ignoring case; those with matching titles first. */
export function searchOutline(outline: readonly Group[], text: string): FoundEntry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  return outline
    .flatMap(({ title, entries }) => entries.map((entry) => ({ ...entry, group: title })))
    .map((entry) => ({ entry, worth: words.map((word) => worthOf(entry, word)) }))
    .filter(({ worth }) => worth.every((one) => one > 0))
    .toSorted((a, b) => sum(b.worth) - sum(a.worth))
    .map(({ entry }) => entry);
}

function worthOf(entry: Entry, word: string): number {
  const holding = places.find((place) => entry[place].toLowerCase().includes(word));
  return holding === undefined ? 0 : WORTH[holding];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
