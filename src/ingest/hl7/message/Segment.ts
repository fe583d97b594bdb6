import type { Delimiters } from './delimiters.ts';
import { unescapeText } from './escapes.ts';

/** What a message says of something: a text, `null` to clear it (`""`), undefined for nothing, so that it stays as it is (HL7 v2.5.1, 2.5.3). */
export type Value = string | null | undefined;

/** How the texts of a message are written. */
export interface Encoding {
  delimiters: Delimiters;
  /** As `decode` has it. */
  characterSet: string;
}

const CLEARED = '""';

/** One repetition of a field. */
export class Repetition {
  /** As it was sent. */
  readonly text: string;
  /** Its place among those of the field, from 1. */
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

  /** What a component's subcomponent says, each counted from 1. Blanks at the end say nothing. */
  value(component: number, subcomponent = 1): Value {
    if (this.isCleared) return null;
    const { delimiters, characterSet } = this.#encoding;
    const whole = partOf(this.text, delimiters.component, component);
    if (whole === CLEARED) return null;
    const part = partOf(whole, delimiters.subcomponent, subcomponent);
    if (part === CLEARED) return null;
    return unescapeText(part, delimiters, characterSet).trimEnd() || undefined;
  }

  /** The place of a component, as an issue's `location` has it. */
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
  /** Which of the segments of its name it is, from 1. */
  readonly sequence: number;
  readonly #encoding: Encoding;
  readonly #fields: string[];

  constructor(line: string, sequence: number, encoding: Encoding) {
    const { field } = encoding.delimiters;
    const [name = '', ...fields] = line.split(field);
    this.name = name;
    this.sequence = sequence;
    this.#encoding = encoding;
    this.#fields = name === 'MSH' ? [field, ...fields] : fields;
  }

  /** How many fields it has, with those that are empty. */
  get length(): number {
    return this.#fields.length;
  }

  /** A field as it was sent, counted from 1. */
  text(field: number): string {
    return this.#fields[field - 1] ?? '';
  }

  /** The repetitions of a field that say something. */
  repetitions(field: number): Repetition[] {
    const all = this.text(field).split(this.#encoding.delimiters.repetition);
    return all.flatMap((one, place) =>
      one === '' ? [] : new Repetition(one, place + 1, [this, field], this.#encoding),
    );
  }

  /** What the first repetition of a field says. */
  value(field: number, component = 1, subcomponent = 1): Value {
    return this.repetitions(field)[0]?.value(component, subcomponent);
  }

  /** Its own place, or that of a field, or of a component of one of its repetitions, as an issue's `location` has it. */
  at(field?: number, component?: number, repetition = 1): string {
    const place = [this.name, this.sequence];
    if (field !== undefined) place.push(field);
    if (component !== undefined) place.push(repetition, component);
    return place.join('^');
  }
}
