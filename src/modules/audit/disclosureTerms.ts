import { z } from 'zod';
import type { Caller } from '../../domain/events/newEvent.ts';
import {
  type DisclosureTerms,
  everyTerm,
  type NullableTerms,
  purposes,
  termNames,
} from '../../domain/events/payloads.ts';
import { text } from '../../domain/records/schema/fields.ts';
import { validate } from '../../domain/records/schema/validation.ts';

/** The terms of disclosures as they are sent: `null`, or only blanks, withdraws one. */
export const disclosureTermsShape = {
  recipient: text('Billing Partners LLC', 'Name of the organization or person that receives the data'),
  recipient_address: text('12 Main St, Omaha, NE 68102', "The recipient's postal address, if known"),
  purpose: z
    .enum(purposes)
    .nullable()
    .optional()
    .meta({
      description:
        'Why the data is disclosed. Accountings of disclosures (45 CFR 164.528) mark `treatment`, ' +
        '`payment` and `operations` as exempt',
      examples: ['payment'],
    }),
  purpose_statement: text(
    'Claims of the clinic are submitted on its behalf',
    'The basis of the disclosures in one sentence, for the patient; required for an accounting if the ' +
      'purpose is `other`',
  ),
};

const schema = z.object(disclosureTermsShape);

/** Parses the terms sent, trimmed; an empty one becomes `null`. Throws `validation_failed`. */
export function parseTerms(input: unknown): NullableTerms {
  const sent = validate(schema, input);
  const cleaned = everyTerm(sent);
  return Object.fromEntries(
    termNames.flatMap((name) => (sent[name] === undefined ? [] : [[name, cleaned[name]]])),
  );
}

/** Returns the caller with terms, which take the place of the reason that was stated for all reads. */
export function withTerms(caller: Caller, terms: DisclosureTerms | undefined): Caller {
  return terms === undefined ? caller : { ...caller, disclosedTo: { ...caller.disclosedTo, ...terms } };
}
