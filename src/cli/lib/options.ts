import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { catalog } from '../../domain/records/catalog.ts';
import { requiredDate } from '../../domain/records/schema/fields.ts';
import { instantOf } from '../../domain/records/schema/isoDates.ts';

/** Returns the argument for a kind of record, which may be in the plural as in paths: `patients`; `more`: other choices. */
export function kindArgument(
  name: string,
  kinds = catalog.map(({ kind }) => kind),
  ...more: string[]
): Argument {
  const choices = [...kinds, ...more];
  return new Argument(name, 'kind of the record').choices(choices).argParser((text: string) => {
    const kind = catalog.find(({ plural }) => plural === text)?.kind ?? text;
    if (choices.includes(kind)) return kind;
    throw new InvalidArgumentError(`Allowed choices are ${choices.join(', ')}.`);
  });
}

/** Parses an ISO 8601 date or date-time to the log's time format. */
export function parseInstant(text: string): string {
  const result = requiredDate(text).safeParse(text);
  if (!result.success) throw new InvalidArgumentError(`It ${result.error.issues[0]?.message}.`);
  return new Date(instantOf(text)).toISOString();
}

/** Checks an ISO 8601 date or date-time, and returns it as given. */
export function parseMoment(text: string): string {
  if (requiredDate('').safeParse(text).success) return text;
  throw new InvalidArgumentError(
    'Specify an ISO 8601 date or date-time, such as 2026-01-31 or 2026-01-31T09:30:00Z.',
  );
}

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

/** Parses an integer of 1 or more. */
export function parsePositive(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Specify a whole number of 1 or more.');
}

/** Adds `--format`, and `--json` for the format json; `byDefault`: the format that need not be named. */
export function addFormatOptions(
  command: Command,
  formats: readonly string[],
  description: string,
  byDefault?: string,
): Command {
  const format = new Option('--format <format>', description).choices(formats);
  return command
    .addOption(byDefault === undefined ? format.makeOptionMandatory() : format.default(byDefault))
    .addOption(new Option('--json', 'the same as --format json').implies({ format: 'json' }));
}
