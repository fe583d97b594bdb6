const TAG = /^(?:W\/)?"([1-9]\d{0,14})"$/;

/** Returns the version that a tag such as `W/"3"` names (FHIR R4, 3.1.0.5); undefined where none is sent. */
export function versionOf(tag: string | undefined): number | undefined | 'invalid' {
  if (tag === undefined) return undefined;
  const version = TAG.exec(tag)?.[1];
  return version === undefined ? 'invalid' : Number(version);
}
