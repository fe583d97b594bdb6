import type { Position } from '../ports/eventLog.ts';

/** Digits of the largest safe integer. */
const DIGITS = 16;

/** A position as callers see it: of fixed length, so that it also sorts as text. */
export function formatPosition(position: Position): string {
  return String(position).padStart(DIGITS, '0');
}

/** The position that a caller sends back; undefined when it is none. */
export function parsePosition(text: string): Position | undefined {
  if (!/^\d{1,16}$/.test(text)) return undefined;
  const position = Number(text);
  return Number.isSafeInteger(position) ? position : undefined;
}
