/** The names that identify a certificate. */
export interface CertificateNames {
  /** SHA-256, in the form returned by `canonicalCertificate`. */
  fingerprint: string;
  /** In the form returned by `canonicalCertificate`. */
  subject: string;
}

/**
 * Returns the name of a certificate in canonical form: its SHA-256 fingerprint (`0D:E5:…`, accepted with or without
 * colons), or its whole subject, attributes with their types in alphabetical order (`CN=lab,O=Hospital`), accepted in
 * any order, separated by commas or as lines. Undefined for anything else.
 */
export function canonicalCertificate(text: string): string | undefined {
  const hex = text.replaceAll(':', '').trim();
  if (/^[0-9a-f]{64}$/i.test(hex)) return hex.toUpperCase().replace(/..(?=.)/g, '$&:');
  // A backslash removes the meaning of a comma or plus sign (RFC 4514); one with nothing to remove is an end, too.
  const parts = [...text.matchAll(/((?:\\.|[^\\,+\n])*)([,+\n\\]|$)/g)];
  if (parts.some(([, , end]) => end === '\\')) return undefined;
  const named = parts.map(([, part = '']) => part.trim()).filter((part) => part !== '');
  const attributes = named.map((part) => /^([a-z][a-z0-9.-]*|[0-9.]+)\s*=\s*(\S.*)$/i.exec(part));
  if (attributes.length === 0 || attributes.includes(null)) return undefined;
  return attributes
    .map((attribute) => `${attribute?.[1]?.toUpperCase()}=${attribute?.[2]}`)
    .toSorted()
    .join(',');
}
