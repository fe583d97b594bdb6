import { BYTES, characterSetOf, decode, KNOWN_CHARACTER_SETS } from './framing.ts';

/** Codes of what may be wrong with a message (HL7 table 0357), with their names there. */
export const conditionNames = {
  '100': 'Segment sequence error',
  '101': 'Required field missing',
  '102': 'Data type error',
  '103': 'Table value not found',
  '104': 'Value too long',
  '200': 'Unsupported message type',
  '201': 'Unsupported event code',
  '202': 'Unsupported processing id',
  '203': 'Unsupported version id',
  '204': 'Unknown key identifier',
  '205': 'Duplicate key identifier',
  '207': 'Application internal error',
} as const;

export type ConditionCode = keyof typeof conditionNames;

/** What is wrong with a message, or was not used from it. */
export interface Hl7Issue {
  /** With an `error`, nothing of the message is accepted. */
  severity: 'error' | 'warning';
  code: ConditionCode;
  /**
   * In the form of ERR-2, with the usual delimiters: `PID^1^5` (segment, which one of that name, field),
   * `PID^1^5^1^2` (repetition, component).
   */
  location?: string;
  /** What to do about it; never a value of the message. */
  text: string;
}

/** A message of which nothing is accepted. */
export interface Hl7Refusal {
  /** `AE`: it is wrong, or cannot be accepted as it stands; `AR`: it is not for this receiver (HL7 v2.5.1, 2.9.2). */
  refused: 'AE' | 'AR';
  issues: Hl7Issue[];
}

/** Returns the refusal for a single reason. */
export function refusal(
  refused: 'AE' | 'AR',
  code: ConditionCode,
  location: string | undefined,
  text: string,
): Hl7Refusal {
  return { refused, issues: [{ severity: 'error', code, ...(location && { location }), text }] };
}

/** The maximum number of lines or blanks that one formatting command produces. */
const MOST_SPACE = 100;

/** Formatting commands of HL7 v2.5.1, 2.7.6, that end a line. */
const LINE_ENDS = new Set(['.br', '.ce', '.sp']);

/**
 * Returns the text that an escaped one stands for (HL7 v2.5.1, 2.7): delimiters, bytes in the message's character
 * set, line ends. Highlighting, other character sets and what senders agreed on among themselves (`\H\`, `\C…\`,
 * `\Z…\`) are left out; what is not an escape sequence stays.
 */
export function unescapeText(text: string, delimiters: Delimiters, characterSet: string): string {
  const { escape: sign } = delimiters;
  if (!text.includes(sign)) return text;
  const parts = text.split(sign);
  let plain = parts[0] as string;
  for (let place = 1; place < parts.length; place++) {
    const sequence = parts[place] as string;
    const meaning = place === parts.length - 1 ? undefined : meaningOf(sequence, delimiters, characterSet);
    if (meaning === undefined) plain += sign + sequence;
    else {
      place += 1;
      plain += meaning + parts[place];
    }
  }
  return plain;
}

function meaningOf(sequence: string, delimiters: Delimiters, characterSet: string): string | undefined {
  switch (sequence) {
    case 'F':
      return delimiters.field;
    case 'S':
      return delimiters.component;
    case 'T':
      return delimiters.subcomponent;
    case 'R':
      return delimiters.repetition;
    case 'E':
      return delimiters.escape;
    case 'P':
      return '#';
    case 'H':
    case 'N':
      return '';
  }
  const bytes = /^X((?:[0-9A-Fa-f]{2})+)$/.exec(sequence)?.[1];
  if (bytes !== undefined) return decode(Buffer.from(bytes, 'hex'), characterSet);
  if (/^(?:C[0-9A-Fa-f]{4}|M[0-9A-Fa-f]{4,6}|Z[^\s]*)$/.test(sequence)) return '';
  return formatting(sequence);
}

function formatting(sequence: string): string | undefined {
  const [, command = '', sign = '', count = ''] =
    /^(\.(?:br|ce|sp|in|ti|fi|nf|sk))\s*([+-]?)(\d{0,4})$/.exec(sequence) ?? [];
  if (command === '') return undefined;
  const times = Math.min(Number(count || '1'), MOST_SPACE);
  if (LINE_ENDS.has(command)) return '\n'.repeat(times);
  return command === '.sk' && sign !== '-' ? ' '.repeat(times) : '';
}

/** Returns a text escaped for a message with such delimiters: on one line. */
export function escapeText(text: string, delimiters: Delimiters): string {
  const { escape: sign, field, component, subcomponent, repetition } = delimiters;
  const letters = new Map([
    [sign, 'E'],
    [field, 'F'],
    [component, 'S'],
    [subcomponent, 'T'],
    [repetition, 'R'],
  ]);
  return Array.from(text, (character) => {
    if (/[\r\n]/.test(character)) return ' ';
    const letter = letters.get(character);
    return letter === undefined ? character : `${sign}${letter}${sign}`;
  }).join('');
}

/**
 * What a message says about something: a text, `null` to clear it (`""`), undefined for nothing, so that it stays as
 * it is (HL7 v2.5.1, 2.5.3).
 */
export type Value = string | null | undefined;

/** How the texts of a message are written. */
export interface Encoding {
  delimiters: Delimiters;
  /** As used by `decode`. */
  characterSet: string;
}

const CLEARED = '""';

/** Fields that are read of a segment; no version of HL7 v2 has segments with a tenth of that. */
const MOST_FIELDS = 1_000;

/** Repetitions that are read of a field; a message with more is refused. */
const MOST_REPETITIONS = 10_000;

/** One repetition of a field. */
export class Repetition {
  /** As sent. */
  readonly text: string;
  /** Its place among those of the field, counted from 1. */
  readonly number: number;
  readonly #segment: Segment;
  readonly #field: number;
  readonly #encoding: Encoding;

  constructor(text: string, number: number, [segment, field]: [Segment, number], encoding: Encoding) {
    this.text = text;
    this.number = number;
    this.#segment = segment;
    this.#field = field;
    this.#encoding = encoding;
  }

  get isCleared(): boolean {
    return this.text === CLEARED;
  }

  /** Returns the value of a component's subcomponent, each counted from 1. Trailing blanks are ignored. */
  value(component: number, subcomponent = 1): Value {
    if (this.isCleared) return null;
    const { delimiters, characterSet } = this.#encoding;
    const whole = partOf(this.text, delimiters.component, component);
    if (whole === CLEARED) return null;
    const part = partOf(whole, delimiters.subcomponent, subcomponent);
    if (part === CLEARED) return null;
    return unescapeText(part, delimiters, characterSet).trimEnd() || undefined;
  }

  /** Returns the place of a component, in the form of an issue's `location`. */
  at(component: number): string {
    return this.#segment.at(this.#field, component, this.number);
  }
}

/** Returns a part of a text, counted from 1. Nothing is made of the parts before it. */
function partOf(text: string, delimiter: string, number: number): string {
  let start = 0;
  for (let part = 1; part < number; part += 1) {
    const next = text.indexOf(delimiter, start);
    if (next < 0) return '';
    start = next + 1;
  }
  const end = text.indexOf(delimiter, start);
  return start === 0 && end < 0 ? text : text.slice(start, end < 0 ? text.length : end);
}

/** One segment of a message. */
export class Segment {
  readonly name: string;
  /** Its place among the segments of the same name, counted from 1. */
  readonly sequence: number;
  readonly #encoding: Encoding;
  readonly #line: string;
  #separated: string[] | undefined;

  constructor(line: string, sequence: number, encoding: Encoding) {
    this.name = line.split(encoding.delimiters.field, 1)[0] ?? '';
    this.sequence = sequence;
    this.#encoding = encoding;
    this.#line = line;
  }

  /** Separated once they are asked for: most segments of a message are not used. */
  get #fields(): string[] {
    const { field } = this.#encoding.delimiters;
    this.#separated ??= this.#line
      .split(field, MOST_FIELDS + 1)
      .with(0, field)
      .slice(this.name === 'MSH' ? 0 : 1);
    return this.#separated;
  }

  /** The number of fields that are read, including empty ones. */
  get length(): number {
    return this.#fields.length;
  }

  /** Whether there may be more fields, which are not read. */
  get isCut(): boolean {
    return this.length >= MOST_FIELDS;
  }

  /** Returns a field as sent, counted from 1. */
  text(field: number): string {
    return this.#fields[field - 1] ?? '';
  }

  /** Returns the non-empty repetitions of a field. */
  repetitions(field: number): Repetition[] {
    return [...this.#repetitionsOf(field)];
  }

  /** Returns the value of the first repetition of a field. */
  value(field: number, component = 1, subcomponent = 1): Value {
    const [first] = this.#repetitionsOf(field);
    return first?.value(component, subcomponent);
  }

  /**
   * Returns its own place, or that of a field, or of a component of one of its repetitions, in the form of an issue's
   * `location`.
   */
  at(field?: number, component?: number, repetition = 1): string {
    const segment = `${this.name}^${this.sequence}`;
    if (field === undefined) return segment;
    return component === undefined ? `${segment}^${field}` : `${segment}^${field}^${repetition}^${component}`;
  }

  /** One by one: a field can have thousands of them, of which mostly the first is read. */
  *#repetitionsOf(field: number): Generator<Repetition> {
    const text = this.text(field);
    const { repetition: delimiter } = this.#encoding.delimiters;
    for (let [start, number] = [0, 1]; start < text.length && number <= MOST_REPETITIONS; number++) {
      const next = text.indexOf(delimiter, start);
      const end = next === -1 ? text.length : next;
      if (end > start) yield new Repetition(text.slice(start, end), number, [this, field], this.#encoding);
      start = end + 1;
    }
  }
}

/** An HL7 v2 message, as sent. */
export class Hl7Message {
  readonly encoding: Encoding;
  /** Why it cannot be read; such a message may have an empty header, and lack segments. */
  readonly refusal: Hl7Refusal | undefined;
  /** In order. */
  readonly segments: readonly Segment[];
  readonly #byName = new Map<string, Segment[]>();

  /** The first of the segments is MSH. */
  constructor(segments: readonly Segment[], encoding: Encoding, refusal?: Hl7Refusal) {
    this.encoding = encoding;
    this.refusal = refusal;
    this.segments = segments;
    for (const segment of segments) {
      const alike = this.#byName.get(segment.name);
      if (alike) alike.push(segment);
      else this.#byName.set(segment.name, [segment]);
    }
  }

  /** `lines`: one segment each, the first of them MSH. */
  static of(lines: readonly string[], encoding: Encoding, refusal?: Hl7Refusal): Hl7Message {
    const counts = new Map<string, number>();
    const segments = lines.map((line) => {
      const name = line.split(encoding.delimiters.field, 1)[0] as string;
      const sequence = (counts.get(name) ?? 0) + 1;
      counts.set(name, sequence);
      return new Segment(line, sequence, encoding);
    });
    return new Hl7Message(segments, encoding, refusal);
  }

  /**
   * Returns a message for each segment with a name: with all segments before the first of them, and those from this
   * one up to the next. With at most one of them, it is the message itself.
   */
  groups(name: string): Hl7Message[] {
    const starts = this.segments.flatMap((segment, place) => (segment.name === name ? [place] : []));
    if (starts.length <= 1) return [this];
    const common = this.segments.slice(0, starts[0]);
    return starts.map(
      (start, index) =>
        new Hl7Message([...common, ...this.segments.slice(start, starts[index + 1])], this.encoding),
    );
  }

  get header(): Segment {
    return this.first('MSH') as Segment;
  }

  /** Returns the first segment with a name. */
  first(name: string): Segment | undefined {
    return this.#byName.get(name)?.[0];
  }

  /** Returns the segments with a name, in order. */
  all(name: string): readonly Segment[] {
    return this.#byName.get(name) ?? [];
  }

  /** MSH-9, first component: `ADT`. */
  get type(): string {
    return this.header.value(9) ?? '';
  }

  /** What happened: `A01`. Before v2.3 it may be only in EVN-1. */
  get event(): string {
    return this.header.value(9, 2) ?? this.first('EVN')?.value(1) ?? '';
  }

  /** Where that is. */
  get eventPlace(): string {
    return this.header.value(9, 2) == null ? 'EVN^1^1' : this.header.at(9, 2);
  }

  get controlId(): string {
    return this.header.value(10) ?? '';
  }

  /** MSH-12, such as `2.5.1`. */
  get version(): string {
    return this.header.value(12) ?? '';
  }
}

/** The characters with which a message separates its parts (MSH-1 and MSH-2). */
export interface Delimiters {
  field: string;
  component: string;
  repetition: string;
  escape: string;
  subcomponent: string;
}

/** Those suggested by HL7 v2.5.1 (2.5.4). */
export const usualDelimiters: Delimiters = {
  field: '|',
  component: '^',
  repetition: '~',
  escape: '\\',
  subcomponent: '&',
};

const DELIMITER = /^[!-/:-@[-`{-~]$/;

/**
 * Returns the delimiters that an MSH segment names: ASCII punctuation, all different; undefined where it does not
 * name them. After the four of MSH-2 there may be the truncation character of v2.7, which is not needed.
 */
function delimitersOf(header: string): Delimiters | undefined {
  const field = header.charAt(3);
  const encodingCharacters = header.slice(4).split(field, 1)[0] ?? '';
  const [component = '', repetition = '', escaping = '', subcomponent = ''] = encodingCharacters;
  const named = [field, component, repetition, escaping, subcomponent];
  const areUsable = named.every((one) => DELIMITER.test(one)) && new Set(named).size === named.length;
  if (!areUsable || encodingCharacters.length > 5) return undefined;
  return { field, component, repetition, escape: escaping, subcomponent };
}

/** Maximum size of a message. */
export const MAX_MESSAGE_BYTES = 1024 * 1024;

/** Maximum numbers of segments and escape characters of a message: they take up to a hundred times their bytes. */
const MOST_SEGMENTS = 10_000;
const MOST_ESCAPES = 100_000;

/** How much is looked at of the header of a larger message, in order to answer it. */
const HEADER_BYTES = 4096;

/** A segment's name, followed by its end or by what separates its first field. */
const SEGMENT = /^[A-Z][A-Z0-9]{2}$/;

/**
 * Parses a message from bytes that begin with `MSH`. It never throws: a message that cannot be read says why in
 * `refusal`, and has as much of its header as an acknowledgement needs, and those segments that can be told apart:
 * whom it is about must be known nevertheless.
 */
export function parseMessage(bytes: Uint8Array): Hl7Message {
  const isTooLarge = bytes.length > MAX_MESSAGE_BYTES;
  const [first = '', ...rest] = linesOf(Buffer.from(bytes).toString(BYTES));
  const header = isTooLarge ? first.slice(0, HEADER_BYTES) : first;
  const delimiters = header.startsWith('MSH') ? delimitersOf(header) : undefined;
  if (delimiters === undefined) {
    const encoding = { delimiters: usualDelimiters, characterSet: BYTES };
    return Hl7Message.of(
      ['MSH', ...rest.filter((line) => isSegment(line, usualDelimiters))],
      encoding,
      refusal('AR', '102', 'MSH^1^2', 'MSH-1 and MSH-2 must name the delimiters, such as |^~\\&.'),
    );
  }
  const asBytes = { delimiters, characterSet: BYTES };
  const refused = (why: Hl7Refusal, lines = [header, ...rest], encoding = asBytes) =>
    Hl7Message.of(
      lines.filter((line) => isSegment(line, delimiters)),
      encoding,
      why,
    );
  if (isTooLarge) {
    return refused(refusal('AE', '104', undefined, 'A message can have at most 1 MB.'));
  }
  if (
    rest.length >= MOST_SEGMENTS ||
    hasMore(bytes, delimiters.repetition, MOST_REPETITIONS) ||
    hasMore(bytes, delimiters.escape, MOST_ESCAPES)
  ) {
    const remedy =
      'A message can have at most 10,000 segments, 10,000 repetitions of fields and 100,000 escape characters.';
    return refused(refusal('AE', '104', undefined, remedy));
  }
  const named = Hl7Message.of([header], asBytes).header.value(18) ?? '';
  const characterSet = characterSetOf(named);
  if (characterSet === undefined) {
    return refused(refusal('AR', '103', 'MSH^1^18', `Send ${KNOWN_CHARACTER_SETS}.`));
  }
  const text = decode(bytes, characterSet);
  if (text === undefined) {
    const remedy = `The message is not in the character set named in MSH-18 (UTF-8 if none is named). Send ${KNOWN_CHARACTER_SETS}.`;
    return refused(refusal('AE', '102', 'MSH^1^18', remedy));
  }
  const lines = linesOf(text);
  const odd = lines.findIndex((line) => !isSegment(line, delimiters));
  if (odd >= 0) {
    const remedy = `Line ${odd + 1} does not begin with a segment name. Within a field, send line breaks as an escape sequence.`;
    return refused(refusal('AE', '100', undefined, remedy), lines, { delimiters, characterSet });
  }
  return Hl7Message.of(lines, { delimiters, characterSet });
}

function isSegment(line: string, { field }: Delimiters): boolean {
  return SEGMENT.test(line.split(field, 1)[0] as string);
}

/** Segments end with CR; LF and CRLF are common. Those beyond the first that is too much are left out. */
function linesOf(text: string): string[] {
  return text.split(/[\r\n]+/, MOST_SEGMENTS + 2).filter((line) => line !== '');
}

/** Whether bytes contain an ASCII character more often than that. */
function hasMore(bytes: Uint8Array, character: string, times: number): boolean {
  const code = character.charCodeAt(0);
  let count = 0;
  for (let at = 0; at < bytes.length; at += 1) if (bytes[at] === code) count += 1;
  return count > times;
}
