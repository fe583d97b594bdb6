import type { Hl7Refusal } from './hl7Issue.ts';
import { type Encoding, Segment } from './Segment.ts';

/** An HL7 v2 message, as sent. */
export class Hl7Message {
  readonly encoding: Encoding;
  /** Why it cannot be read; such a message may have an empty header, and lack segments. */
  readonly refusal: Hl7Refusal | undefined;
  /** In order. */
  readonly segments: readonly Segment[];
  readonly #byName = new Map<string, Segment[]>();

  /** `lines`: one segment each, the first of them MSH. */
  constructor(lines: readonly string[], encoding: Encoding, refusal?: Hl7Refusal) {
    this.encoding = encoding;
    this.refusal = refusal;
    this.segments = lines.map((line) => {
      const alike = this.#byName.get(line.slice(0, 3)) ?? [];
      const segment = new Segment(line, alike.length + 1, encoding);
      alike.push(segment);
      this.#byName.set(line.slice(0, 3), alike);
      return segment;
    });
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
