/**
 * Fields that no claim carries: contact details, and what is only for the clinic. Ids are covered by what refers to
 * them.
 */
const notUsed: Readonly<Record<string, readonly string[]>> = {
  encounter: ['id', 'status', 'is_completed', 'void_reason'],
  patient: ['id', 'phone', 'email', 'ssn_last4'],
  payer: ['id', 'contact_email', 'contact_phone', 'fax', 'website'],
  provider: ['id', 'email', 'phone', 'specialty'],
  facility: ['id', 'phone', 'fax', 'email'],
};

/** Kinds of the records on which a claim is based. */
export const usedKinds: readonly string[] = Object.keys(notUsed);

/**
 * Whether a claim carries a field of a record (X12 837P), or a rule looks at it: every field of the kinds on which a
 * claim is based except a few. `field` may be dotted.
 */
export function isUsedField(kind: string, field: string): boolean {
  return !(notUsed[kind]?.includes(field) ?? true);
}
