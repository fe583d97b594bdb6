const encoder = new TextEncoder();

/**
 * The digest of a record's fields, by which `POST /integration/reconcile` compares it: SHA-256, in hexadecimal, of the canonical JSON
 * (RFC 8785) of the fields that are neither `null` nor undefined.
 */
export async function recordDigest(record: object): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', encoder.encode(canonicalJson(record)));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Members are sorted by the UTF-16 code units of their names; the rest is as ECMAScript writes it. */
function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  const members = Object.entries(value)
    .filter(([, inner]) => inner !== null && inner !== undefined)
    .sort(([name], [other]) => (name < other ? -1 : 1));
  return `{${members.map(([name, inner]) => `${JSON.stringify(name)}:${canonicalJson(inner)}`).join()}}`;
}
