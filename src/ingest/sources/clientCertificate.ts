/** What a certificate is known by. */
export interface CertificateNames {
  /** SHA-256, as `canonicalCertificate` gives it. */
  fingerprint: string;
  /** As `canonicalCertificate` gives it. */
  subject: string;
}

/**
 * How a certificate is named, in one form: its SHA-256 fingerprint (`0D:E5:…`, sent with or without colons), or its whole subject, attributes with
 * their types in alphabetical order (`CN=lab,O=Hospital`), sent in any order, separated by commas or as lines. Undefined for what is neither.
 */
export function canonicalCertificate(text: string): string | undefined {
  const hex = text.replaceAll(':', '').trim();
  if (/^[0-9a-f]{64}$/i.test(hex)) return hex.toUpperCase().replace(/..(?=.)/g, '$&:');
  // A backslash takes away what a comma or plus sign means (RFC 4514).
  const parts = [...text.matchAll(/((?:\\.|[^\\,+\n])*)([,+\n]|$)/g)].map(([, part = '']) => part.trim());
  const named = parts.filter((part) => part !== '');
  const attributes = named.map((part) => /^([a-z][a-z0-9.-]*|[0-9.]+)\s*=\s*(.+)$/i.exec(part));
  if (attributes.length === 0 || attributes.includes(null)) return undefined;
  return attributes
    .map((attribute) => `${attribute?.[1]?.toUpperCase()}=${attribute?.[2]}`)
    .toSorted()
    .join(',');
}
