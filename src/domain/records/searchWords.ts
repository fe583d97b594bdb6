/** Longer words are cut, in the index and in queries alike. In characters. */
const MAX_WORD = 64;
/** Parts of an id are also found by their endings, from this many characters on. */
const LEAST_END = 4;
/** Endings per part: the shortest ones of a longer part. */
const MAX_ENDS = 8;

const marks = /\p{M}+/gu;
/** Dropped within a word: O'Brien is found as obrien. */
const apostrophes = /['’ʼ`]/gu;
const notOfWords = /[^\p{L}\p{N}]+/u;
const blanks = /\s+/u;

/** Returns a text in the form used for comparison: NFKD, without accents and case. */
function folded(text: string): string {
  return text.normalize('NFKD').replace(marks, '').toLowerCase();
}

function cut(word: string): string {
  return word.length <= MAX_WORD ? word : [...word].slice(0, MAX_WORD).join('');
}

/** Returns the words of a text: what stands between blanks and punctuation. */
export function wordsOf(text: string): string[] {
  return folded(text)
    .replace(apostrophes, '')
    .split(notOfWords)
    .filter((word) => word !== '')
    .map(cut);
}

/** Returns a text as one word, without blanks and punctuation; a text of nothing but punctuation keeps it. */
export function joinedWord(text: string): string {
  return cut(wordsOf(text).join('') || folded(text).replace(/\s+/gu, ''));
}

/** Returns the blank-separated parts, each as one word. */
export function joinedWords(text: string): string[] {
  return text
    .split(blanks)
    .filter((part) => part !== '')
    .map(joinedWord);
}

/** Returns the endings by which a part of an id is also found. */
export function endsOf(word: string): string[] {
  const characters = [...word];
  const longest = Math.min(characters.length - 1, LEAST_END + MAX_ENDS - 1);
  const lengths = Array.from({ length: Math.max(0, longest - LEAST_END + 1) }, (_, at) => LEAST_END + at);
  return lengths.map((length) => characters.slice(-length).join(''));
}

const dateForms: readonly [form: RegExp, read: (parts: string[]) => string[]][] = [
  [/^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})$/, (parts) => parts],
  [/^(\d{4})(\d{2})(\d{2})$/, (parts) => parts],
  // As written in the United States.
  [/^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})$/, ([month = '', day = '', year = '']) => [year, month, day]],
];

/** Returns the day that a word names in one of the usual forms, as `19900102`; undefined where it names none. */
export function dayIn(word: string): string | undefined {
  for (const [form, read] of dateForms) {
    const found = form.exec(word)?.slice(1);
    if (found === undefined) continue;
    const [year = '', month = '', day = ''] = read(found);
    const isDay = Number(month) >= 1 && Number(month) <= 12 && Number(day) >= 1 && Number(day) <= 31;
    if (isDay) return `${year}${month.padStart(2, '0')}${day.padStart(2, '0')}`;
  }
  return undefined;
}

/** Whether a word may be a year. */
export function isYear(word: string): boolean {
  return /^(?:18|19|20)\d\d$/.test(word);
}
