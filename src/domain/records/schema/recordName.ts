import type { RecordFields } from './defineKind.ts';

/** Returns what people call a record; undefined when it has no name. */
export function recordName({ name, first_name, last_name }: RecordFields): string | undefined {
  if (typeof name === 'string') return name;
  return [first_name, last_name].filter((part) => typeof part === 'string').join(' ') || undefined;
}
