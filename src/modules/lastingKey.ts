import { createHash } from 'node:crypto';
import type { RecordedEvent } from '../domain/events/event.ts';

const FINGERPRINT_DIGITS = 16;

/** A key on which the content of the log depends. */
export interface LastingKey {
  setting: string;
  /** The consequence of using another one, as the end of a sentence. */
  consequence: string;
  /** Where it is looked for: the setting, or a file. */
  place: string;
  /** Resolves with all keys that are set or present: besides the one in use, the next or the previous one. */
  find(): Promise<Buffer[]>;
  /** Resolves with the key, created when there is none. */
  load(): Promise<Buffer>;
  /** Resolves with the key that is to replace another; created, unless it has to be set. */
  next(current: Buffer): Promise<Buffer>;
  /** Puts a key returned by `next` in the key's place, once the log knows it. */
  settle(key: Buffer): Promise<void>;
  /** What is made with it after a rotation replaced it is not accepted. */
  endsForGood?: true;
}

/** Returns what is wrong with a key that the log knows by its fingerprint, given what was found. */
export function problemOf(
  { setting, place, consequence }: LastingKey,
  found: readonly Buffer[],
  known: string,
): string | undefined {
  const own = found.map((bytes) => fingerprintOf(setting, bytes));
  const [first] = own;
  if (first === undefined) {
    return `${setting}: there is no key in ${place}, but the event log knows one (${known}). With another one, ${consequence}.`;
  }
  if (own.includes(known)) return undefined;
  return `${setting}: the key in ${place} (${first}) is not the one that the event log knows (${known}). With it, ${consequence}.`;
}

/** Returns what identifies a key of a setting, and reveals nothing about it. */
export function fingerprintOf(setting: string, bytes: Buffer): string {
  const hash = createHash('sha256').update(`${setting}\n`).update(bytes);
  return hash.digest('hex').slice(0, FINGERPRINT_DIGITS);
}

/** Whether a rotation replaced a key, according to the log's events about keys. */
export function wasEnded({ setting }: LastingKey, key: Buffer, events: readonly RecordedEvent[]): boolean {
  const fingerprint = fingerprintOf(setting, key);
  return events.some(
    ({ type, data }) =>
      type === 'KeyRotated' && data.setting === setting && data.previous_fingerprint === fingerprint,
  );
}
