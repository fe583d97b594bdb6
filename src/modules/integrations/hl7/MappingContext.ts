import type { Hl7Message } from './Hl7Message.ts';
import type { ConditionCode, Hl7Issue } from './hl7Issue.ts';
import type { Hl7Source } from './hl7Source.ts';
import type { Segment } from './Segment.ts';
import { type Told, told } from './Told.ts';
import { dayOf, momentOf } from './timestamps.ts';

/** A message while it is mapped, with what is found to be wrong with it. */
export class MappingContext {
  readonly message: Hl7Message;
  readonly source: Hl7Source;
  readonly issues: Hl7Issue[] = [];

  constructor(message: Hl7Message, source: Hl7Source) {
    this.message = message;
    this.source = source;
  }

  /** Notes that nothing of the message is accepted. */
  refuse(code: ConditionCode, location: string, text: string): void {
    this.issues.push({ severity: 'error', code, location, text });
  }

  /** Notes that something of the message is not used. */
  warn(code: ConditionCode, location: string, text: string): void {
    this.issues.push({ severity: 'warning', code, location, text });
  }

  /** Returns a time (TS) in ISO 8601; an invalid one is left out, with a remark. */
  moment(segment: Segment | undefined, field: number, component = 1): Told | undefined {
    return this.#time(segment, field, component, (text) => momentOf(text, this.source.time_zone));
  }

  /** Returns the plain date of a time (DT, TS), in the same way. */
  day(segment: Segment | undefined, field: number): Told | undefined {
    return this.#time(segment, field, 1, dayOf);
  }

  #time(
    segment: Segment | undefined,
    field: number,
    component: number,
    read: (text: string) => string | undefined,
  ): Told | undefined {
    const text = segment?.value(field, component);
    if (segment === undefined || text === undefined) return undefined;
    const time = text === null ? null : read(text);
    if (time === undefined) {
      this.warn(
        '102',
        segment.at(field, component),
        'This is not a time with at least a day (YYYYMMDD), so it is ignored.',
      );
    }
    return told(time, segment.at(field, component));
  }
}
