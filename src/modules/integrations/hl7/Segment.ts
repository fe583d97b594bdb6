import type { Delimiters } from './delimiters.ts';
import { unescapeText } from './escapes.ts';

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
export const MOST_REPETITIONS = 10_000;

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

function partOf(text: string, delimiter: string, number: number): string {
  return text.split(delimiter, number)[number - 1] ?? '';
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
    const place = [this.name, this.sequence];
    if (field !== undefined) place.push(field);
    if (component !== undefined) place.push(repetition, component);
    return place.join('^');
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
