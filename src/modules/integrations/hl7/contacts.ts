import type { Repetition, Value } from './Segment.ts';
import { type Told, told, unlessCleared } from './Told.ts';

/** Equipment (HL7 table 0202) for speaking; '' means none given. */
const PHONES: readonly Value[] = ['PH', 'CP', 'SAT', ''];

/** Returns the first phone number among the ways to reach somebody (XTN); `null` where they are all cleared. */
export function phoneOf(ways: readonly Repetition[]): Told | undefined {
  return firstOf(ways, (way) =>
    isMail(way) || !PHONES.includes(way.value(3) ?? '') ? undefined : numberOf(way),
  );
}

/** Returns the first email address among them. */
export function emailOf(ways: readonly Repetition[]): Told | undefined {
  return firstOf(ways, (way) =>
    isMail(way) ? (unlessCleared(said(way, 4)) ?? mailIn(said(way, 1))) : undefined,
  );
}

function firstOf(ways: readonly Repetition[], read: (way: Repetition) => Told | undefined): Told | undefined {
  const [first] = ways;
  if (first && ways.every((way) => way.isCleared)) return told<null>(null, first.at(1));
  for (const way of ways) {
    const found = way.isCleared ? undefined : unlessCleared(read(way));
    if (found) return found;
  }
  return undefined;
}

/** Returns what a component says, with its place. */
function said(way: Repetition, component: number): Told | undefined {
  return told(way.value(component), way.at(component));
}

/** Determined by its use, by its equipment (tables 0201 and 0202), or by how it looks. */
function isMail(way: Repetition): boolean {
  return (
    way.value(2) === 'NET' ||
    /^(?:internet|x\.400)$/i.test(way.value(3) ?? '') ||
    (way.value(1) ?? way.value(4) ?? '').includes('@')
  );
}

function mailIn(text: Told | undefined): Told | undefined {
  return text?.value?.includes('@') ? text : undefined;
}

/**
 * Returns the number as one text, where it was sent that way, otherwise from its parts: country, area, number,
 * extension.
 */
function numberOf(way: Repetition): Told | undefined {
  const whole = unlessCleared(said(way, 1)) ?? unlessCleared(said(way, 12));
  if (whole) return whole;
  const [country, area, local, extension] = [way.value(5), way.value(6), way.value(7), way.value(8)];
  if (!local) return undefined;
  const number = `${country ? `+${country.replace(/^\+/, '')} ` : ''}${area ? `${area} ` : ''}${local}${extension ? ` x${extension}` : ''}`;
  return told(number, way.at(7));
}
