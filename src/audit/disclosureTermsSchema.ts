import { z } from 'zod';
import { everyTerm, type NullableTerms, purposes, termNames } from '../events/disclosureTerms.ts';
import { text } from '../records/fields.ts';
import { validate } from '../records/validate.ts';

/** The terms of disclosures as they are sent: `null`, or nothing but blanks, takes one back. */
export const disclosureTermsShape = {
  recipient: text('Billing Partners LLC', 'Name of the organisation or person to whom data go'),
  recipient_address: text('12 Main St, Omaha, NE 68102', 'Its postal address, as far as it is known'),
  purpose: z
    .enum(purposes)
    .nullable()
    .optional()
    .meta({
      description:
        'Why data go there. Accountings of disclosures (45 CFR 164.528) mark `treatment`, `payment` and `operations` as exempt',
      examples: ['payment'],
    }),
  purpose_statement: text(
    'Claims of the clinic are submitted on its behalf',
    'The basis of the disclosures in a sentence, for the patient; an accounting needs it where the purpose is `other`',
  ),
};

const schema = z.object(disclosureTermsShape);

/** Terms that somebody sent, without blanks around them; an empty one is `null`. Throws `validation_failed`. */
export function parseTerms(input: unknown): NullableTerms {
  const sent = validate(schema, input);
  const cleaned = everyTerm(sent);
  return Object.fromEntries(
    termNames.flatMap((name) => (sent[name] === undefined ? [] : [[name, cleaned[name]]])),
  );
}
