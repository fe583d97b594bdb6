/** Why protected data are disclosed. Accountings of disclosures exclude the first three (45 CFR 164.528(a)(1)(i)). */
export const purposes = ['treatment', 'payment', 'operations', 'other'] as const;
export type Purpose = (typeof purposes)[number];

/** The recipient and purpose of disclosed data, as stated for a key, a webhook or an export; what was not stated is left out. */
export interface DisclosureTerms {
  /** Name of the organization or person. */
  recipient?: string | undefined;
  recipient_address?: string | undefined;
  purpose?: Purpose | undefined;
  /** A sentence that tells the patient the basis of the disclosure. */
  purpose_statement?: string | undefined;
}

export const termNames = [
  'recipient',
  'recipient_address',
  'purpose',
  'purpose_statement',
] as const satisfies (keyof DisclosureTerms)[];

/** Terms in which those not given, or withdrawn, are `null`. */
export type NullableTerms = { [Name in keyof DisclosureTerms]?: DisclosureTerms[Name] | null };

/** Returns the terms among the given fields, omitting those not set; undefined if none is set. */
export function termsOf(fields: NullableTerms): DisclosureTerms | undefined {
  const given = termNames.flatMap((name) => {
    const value = fields[name];
    return value === undefined || value === null ? [] : [[name, value]];
  });
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

/** Returns all terms from validated fields, with `null` for those that are missing or blank. */
export function everyTerm({ recipient, recipient_address, purpose, purpose_statement }: NullableTerms) {
  return {
    recipient: recipient?.trim() || null,
    recipient_address: recipient_address?.trim() || null,
    purpose: purpose ?? null,
    purpose_statement: purpose_statement?.trim() || null,
  };
}
