/** Longer words are cut, in what is found and in what is looked for alike. In characters. */
const MAX_WORD = 64;
/** Parts of an id that are this long are also found by their ends, of as many characters. */
const LEAST_END = 4;
/** Ends of a part: of a longer one the shortest. */
const MAX_ENDS = 8;

const marks = /\p{M}+/gu;
/** They are left out within a word: O'Brien is found as obrien. */
const apostrophes = /['’ʼ`]/gu;
const notOfWords = /[^\p{L}\p{N}]+/u;
const blanks = /\s+/u;

/** A text as it is compared: without accents and case, in the forms of NFKD. */
function folded(text: string): string {
  return text.normalize('NFKD').replace(marks, '').toLowerCase();
}

function cut(word: string): string {
  return word.length <= MAX_WORD ? word : [...word].slice(0, MAX_WORD).join('');
}

/** The words of a text: what stands between blanks and signs. */
export function wordsOf(text: string): string[] {
  return folded(text)
    .replace(apostrophes, '')
    .split(notOfWords)
    .filter((word) => word !== '')
    .map(cut);
}

/** A text as one word, without its blanks and signs; where it has nothing else, with its signs. */
export function joinedWord(text: string): string {
  return cut(wordsOf(text).join('') || folded(text).replace(/\s+/gu, ''));
}

/** What stands between blanks, each as one word. */
export function joinedWords(text: string): string[] {
  return text
    .split(blanks)
    .filter((part) => part !== '')
    .map(joinedWord);
}

/** The ends of a part of an id by which it is found, too. */
export function endsOf(word: string): string[] {
  const characters = [...word];
  const longest = Math.min(characters.length - 1, LEAST_END + MAX_ENDS - 1);
  const lengths = Array.from({ length: Math.max(0, longest - LEAST_END + 1) }, (_, at) => LEAST_END + at);
  return lengths.map((length) => characters.slice(-length).join(''));
}

const dateForms: readonly [form: RegExp, read: (parts: string[]) => string[]][] = [
  [/^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})$/, (parts) => parts],
  [/^(\d{4})(\d{2})(\d{2})$/, (parts) => parts],
  // As it is written in the United States.
  [/^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})$/, ([month = '', day = '', year = '']) => [year, month, day]],
];

/** The day that a word names in a usual form, as `19900102`; undefined where it names none. */
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
