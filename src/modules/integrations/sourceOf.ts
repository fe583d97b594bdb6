import { type KeyState, keysOfSender } from '../auth/keyState.ts';
import { BUILT_IN_SOURCE, DEFAULT_TIME_ZONE, type Source, type SourceFormat } from './source.ts';

/** A key with which something was sent, and those known, which say what other keys its sender has. */
export interface SentWith {
  keyId: string;
  known: Pick<KeyState, 'keys'>;
}

/**
 * Returns the source of what was sent in a format with a key: that of the key, otherwise that of the newest other key
 * of the same sender, otherwise the workspace's default one for the format, otherwise one with nothing configured
 * (`default`). Without a key it is a default one.
 */
export function sourceOf(sources: readonly Source[], format: SourceFormat, sentWith?: SentWith): Source {
  const ofFormat = sources.filter((source) => source.format === format);
  return (
    (sentWith && sourceOfSender(ofFormat, sentWith)) ??
    ofFormat.find(isDefault) ?? {
      id: BUILT_IN_SOURCE,
      format,
      time_zone: DEFAULT_TIME_ZONE,
    }
  );
}

function sourceOfSender(sources: readonly Source[], { keyId, known }: SentWith): Source | undefined {
  const own = sources.find(({ key }) => key === keyId);
  if (own !== undefined || sources.length === 0) return own;
  const byKey = new Map(sources.map((source) => [source.key, source]));
  const named = keysOfSender(known, keyId).findLast((id) => byKey.has(id));
  return named === undefined ? undefined : byKey.get(named);
}

/** Whether it applies where no other source of its format does. */
export function isDefault({ key, mllp }: Source): boolean {
  return key === undefined && mllp === undefined;
}
