/** Why protected data leave. Accountings of disclosures are not about the first three (45 CFR 164.528(a)(1)(i)). */
export const purposes = ['treatment', 'payment', 'operations', 'other'] as const;
export type Purpose = (typeof purposes)[number];

/** To whom data go and why, as people said it of a key, a webhook or an export; what nobody said is left out. */
export interface DisclosureTerms {
  /** Name of the organisation or person. */
  recipient?: string | undefined;
  recipient_address?: string | undefined;
  purpose?: Purpose | undefined;
  /** What tells the patient the basis of the disclosure, in a sentence. */
  purpose_statement?: string | undefined;
}

export const termNames = [
  'recipient',
  'recipient_address',
  'purpose',
  'purpose_statement',
] as const satisfies (keyof DisclosureTerms)[];

/** Terms where those that nobody gave, or took back, are `null`. */
export type NullableTerms = { [Name in keyof DisclosureTerms]?: DisclosureTerms[Name] | null };

/** The terms among the fields of something, without those that are not given; undefined where none is. */
export function termsOf(fields: NullableTerms): DisclosureTerms | undefined {
  const given = termNames.flatMap((name) => {
    const value = fields[name];
    return value === undefined || value === null ? [] : [[name, value]];
  });
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

/** All terms among the fields of something that was checked; `null` are those that it does not give, or that are blank. */
export function everyTerm({ recipient, recipient_address, purpose, purpose_statement }: NullableTerms) {
  return {
    recipient: recipient?.trim() || null,
    recipient_address: recipient_address?.trim() || null,
    purpose: purpose ?? null,
    purpose_statement: purpose_statement?.trim() || null,
  };
}
