import { InvalidArgumentError } from 'commander';

const secondsOf = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Parses `30m`, `24h`, `7d` to seconds; undefined for any other form. */
export function durationOf(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,7})([smhd])$/.exec(text) ?? [];
  return unit === undefined ? undefined : Number(count) * secondsOf[unit as keyof typeof secondsOf];
}

/** The same, as an argument. */
export function parseDuration(text: string): number {
  const seconds = durationOf(text);
  if (seconds !== undefined) return seconds;
  throw new InvalidArgumentError('Specify a time such as 0s, 30m, 24h or 7d.');
}
