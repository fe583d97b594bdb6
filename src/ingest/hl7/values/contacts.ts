import type { Repetition, Value } from '../message/Segment.ts';

/** Equipment (HL7 table 0202) that speaks; '' stands for none given. */
const PHONES: readonly Value[] = ['PH', 'CP', 'SAT', ''];

/** The first phone number among ways to reach somebody (XTN); `null` where they are all cleared. */
export function phoneOf(ways: readonly Repetition[]): Value {
  return firstOf(ways, (way) =>
    isMail(way) || !PHONES.includes(way.value(3) ?? '') ? undefined : numberOf(way),
  );
}

/** The first email address among them. */
export function emailOf(ways: readonly Repetition[]): Value {
  return firstOf(ways, (way) => (isMail(way) ? (way.value(4) ?? mailIn(way.value(1))) : undefined));
}

function firstOf(ways: readonly Repetition[], read: (way: Repetition) => Value): Value {
  if (ways.length > 0 && ways.every((way) => way.isCleared)) return null;
  for (const way of ways) {
    const value = way.isCleared ? undefined : read(way);
    if (value) return value;
  }
  return undefined;
}

/** By what it is used for, by its equipment (tables 0201 and 0202), or by how it looks. */
function isMail(way: Repetition): boolean {
  return (
    way.value(2) === 'NET' ||
    /^(?:internet|x\.400)$/i.test(way.value(3) ?? '') ||
    (way.value(1) ?? way.value(4) ?? '').includes('@')
  );
}

function mailIn(text: Value): Value {
  return text?.includes('@') ? text : undefined;
}

/** The number as one text, where it was sent so, else of its parts: country, area, number, extension. */
function numberOf(way: Repetition): Value {
  const whole = way.value(1) ?? way.value(12);
  if (whole) return whole;
  const [country, area, local, extension] = [way.value(5), way.value(6), way.value(7), way.value(8)];
  if (!local) return undefined;
  return `${country ? `+${country.replace(/^\+/, '')} ` : ''}${area ? `${area} ` : ''}${local}${extension ? ` x${extension}` : ''}`;
}
