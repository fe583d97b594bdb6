import type { Repetition, Value } from '../message/Segment.ts';
import { type Told, told, unlessCleared } from './Told.ts';

/** Equipment (HL7 table 0202) that speaks; '' stands for none given. */
const PHONES: readonly Value[] = ['PH', 'CP', 'SAT', ''];

/** The first phone number among ways to reach somebody (XTN); `null` where they are all cleared. */
export function phoneOf(ways: readonly Repetition[]): Told | undefined {
  return firstOf(ways, (way) =>
    isMail(way) || !PHONES.includes(way.value(3) ?? '') ? undefined : numberOf(way),
  );
}

/** The first email address among them. */
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

/** What a component says, with its place. */
function said(way: Repetition, component: number): Told | undefined {
  return told(way.value(component), way.at(component));
}

/** By what it is used for, by its equipment (tables 0201 and 0202), or by how it looks. */
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

/** The number as one text, where it was sent so, else of its parts: country, area, number, extension. */
function numberOf(way: Repetition): Told | undefined {
  const whole = unlessCleared(said(way, 1)) ?? unlessCleared(said(way, 12));
  if (whole) return whole;
  const [country, area, local, extension] = [way.value(5), way.value(6), way.value(7), way.value(8)];
  if (!local) return undefined;
  const number = `${country ? `+${country.replace(/^\+/, '')} ` : ''}${area ? `${area} ` : ''}${local}${extension ? ` x${extension}` : ''}`;
  return told(number, way.at(7));
}
