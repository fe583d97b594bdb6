import { BUILT_IN_SOURCE, DEFAULT_TIME_ZONE, type Source, type SourceFormat } from './source.ts';

/**
 * Returns the source of what was sent in a format with the key with an id: that of the key, otherwise the workspace's
 * default one for the format, otherwise one with nothing configured (`default`). Without a key it is a default one.
 */
export function sourceOf(sources: readonly Source[], format: SourceFormat, keyId?: string): Source {
  const ofFormat = sources.filter((source) => source.format === format);
  return (
    (keyId === undefined ? undefined : ofFormat.find(({ key }) => key === keyId)) ??
    ofFormat.find(isDefault) ?? {
      id: BUILT_IN_SOURCE,
      format,
      time_zone: DEFAULT_TIME_ZONE,
    }
  );
}

/** Whether it applies where no other source of its format does. */
export function isDefault({ key, mllp }: Source): boolean {
  return key === undefined && mllp === undefined;
}
