import { BUILT_IN_SOURCE, DEFAULT_TIME_ZONE, type Source, type SourceFormat } from './source.ts';

/**
 * The source of what was sent in a format with the key of an id: that of the key, else the default one of the workspace for the
 * format, else one with nothing configured (`default`). Without a key it is a default one.
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

/** Whether it counts for what no other source of its format is for. */
export function isDefault({ key, mllp }: Source): boolean {
  return key === undefined && mllp === undefined;
}
