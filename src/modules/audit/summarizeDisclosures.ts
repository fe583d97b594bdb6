import type { Disclosure } from './disclosure.ts';

/** Disclosures to the same recipient for the same purpose, which 45 CFR 164.528(b)(3) permits to be reported together. */
export type DisclosureSummary = Pick<
  Disclosure,
  'recipient' | 'recipient_address' | 'purpose' | 'purpose_statement' | 'principal' | 'webhook_id'
> &
  Pick<Disclosure, 'status' | 'exemption' | 'what' | 'what_more' | 'action'> & {
    first_disclosed_at: string;
    last_disclosed_at: string;
    /** How many there were. */
    disclosures: number;
  };

/**
 * Summarizes disclosures, given newest first: `what` and `action` are those of the first of the period. Without a recipient each
 * key and webhook is listed separately, and what was disclosed to a different address or with a different statement is listed
 * separately.
 */
export async function summarizeDisclosures(parts: AsyncIterable<Disclosure[]>): Promise<DisclosureSummary[]> {
  const summaries = new Map<string, DisclosureSummary>();
  for await (const part of parts) {
    for (const disclosure of part) {
      const { recipient, recipient_address, purpose, purpose_statement } = disclosure;
      const { principal, webhook_id, status, exemption, disclosed_at } = disclosure;
      const giver = recipient === null ? [principal.type, principal.id, webhook_id] : [];
      const key = JSON.stringify([recipient, recipient_address, purpose, purpose_statement, ...giver]);
      const later = summaries.get(key);
      summaries.set(key, {
        ...{ recipient, recipient_address, purpose, purpose_statement, principal, webhook_id },
        ...{ status, exemption },
        what: disclosure.what,
        what_more: disclosure.what_more,
        action: disclosure.action,
        first_disclosed_at: disclosed_at,
        last_disclosed_at: later?.last_disclosed_at ?? disclosed_at,
        disclosures: (later?.disclosures ?? 0) + 1,
      });
    }
  }
  return [...summaries.values()];
}
