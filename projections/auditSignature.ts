import type { AuditEntry } from './auditEntry.ts';

/** The properties by which entries can be found. */
export const auditFacets = ['principal', 'action', 'kind', 'id', 'outcome'] as const;
export type AuditFacet = (typeof auditFacets)[number];

/** Values that an entry must have; any if omitted. */
export type AuditFacetValues = Partial<Record<AuditFacet, string>>;

/** Number of characters for a facet in a signature, of 6 bits each. */
const FACET_LENGTH = 3;
const SIGNATURE_LENGTH = auditFacets.length * FACET_LENGTH;
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const NONE = '.'.repeat(FACET_LENGTH);

const facetValue: Record<AuditFacet, (entry: AuditEntry) => string | undefined> = {
  principal: ({ principal }) => principal.id,
  action: ({ action, type }) => action ?? type,
  kind: ({ kind }) => kind,
  id: ({ id }) => id,
  outcome: ({ code }) => (code === undefined ? 'accepted' : 'refused'),
};

/** Whether an entry has all these values. */
export function hasFacets(entry: AuditEntry, wanted: AuditFacetValues): boolean {
  return auditFacets.every(
    (facet) => wanted[facet] === undefined || wanted[facet] === facetValue[facet](entry),
  );
}

/** Returns the concatenated signatures of entries: for each facet a hash of 18 bits. */
export function signaturesOf(entries: readonly AuditEntry[]): string {
  let text = '';
  for (const entry of entries) {
    for (const facet of auditFacets) text += hash(facetValue[facet](entry));
  }
  return text;
}

/** From the facet that is usually most selective (refusals are rare) to the least selective. */
const bySelectivity: readonly AuditFacet[] = ['id', 'outcome', 'principal', 'action', 'kind'];

/** Returns a test for signatures: false means that none of the entries has all these values, true that one very probably has. */
export function signatureTest(wanted: AuditFacetValues): (signatures: string) => boolean {
  const [first, ...others] = bySelectivity.flatMap((facet) => {
    const value = wanted[facet];
    return value === undefined
      ? []
      : [{ offset: auditFacets.indexOf(facet) * FACET_LENGTH, hash: hash(value) }];
  });
  if (first === undefined) return () => true;
  return (signatures) => {
    for (let at = signatures.indexOf(first.hash); at !== -1; at = signatures.indexOf(first.hash, at + 1)) {
      const start = at - first.offset;
      const isAligned = start % SIGNATURE_LENGTH === 0;
      if (isAligned && others.every((part) => signatures.startsWith(part.hash, start + part.offset)))
        return true;
    }
    return false;
  };
}

/**
 * Returns a test for signatures: false means that no entry has all values of one of these alternatives, true that one very
 * probably has. Its work does not grow with their number.
 */
export function anySignatureTest(alternatives: readonly AuditFacetValues[]): (signatures: string) => boolean {
  const facetsOf = (values: AuditFacetValues) => auditFacets.filter((facet) => values[facet] !== undefined);
  const groups = [...Map.groupBy(alternatives, (values) => facetsOf(values).join()).values()].map((group) => {
    const facets = facetsOf(group[0] as AuditFacetValues);
    const offsets = facets.map((facet) => auditFacets.indexOf(facet) * FACET_LENGTH);
    return {
      offsets,
      hashes: new Set(group.map((values) => facets.map((facet) => hash(values[facet])).join(''))),
    };
  });
  return (signatures) => {
    for (let start = 0; start < signatures.length; start += SIGNATURE_LENGTH) {
      for (const { offsets, hashes } of groups) {
        let key = '';
        for (const offset of offsets) key += signatures.slice(start + offset, start + offset + FACET_LENGTH);
        if (hashes.has(key)) return true;
      }
    }
    return false;
  };
}

/** FNV-1a over the UTF-16 code units, folded to 18 bits. */
function hash(value: string | undefined): string {
  if (value === undefined) return NONE;
  let bits = 0x811c9dc5;
  for (let at = 0; at < value.length; at++) bits = Math.imul(bits ^ value.charCodeAt(at), 0x01000193);
  bits ^= bits >>> 14;
  return `${DIGITS[bits & 63]}${DIGITS[(bits >>> 6) & 63]}${DIGITS[(bits >>> 12) & 63]}`;
}
