import { z } from 'zod';
import { addressFields } from './addressFields.ts';
import { chooseContact } from './choose.ts';
import { addressSchema, contactPointSchema, identifierSchema, listOf } from './dataTypes.ts';
import { numberOf, systems } from './identifiers.ts';
import { refused } from './issue.ts';
import type { MappedRecord, MappingContext } from './mapped.ts';

/** The parts of a Location (FHIR R4, 8.7) that are used. */
export const locationSchema = z.object({
  resourceType: z.literal('Location'),
  id: z.string().optional(),
  identifier: listOf(identifierSchema).optional(),
  name: z.string().optional(),
  description: z.string().optional(),
  telecom: listOf(contactPointSchema).optional(),
  address: addressSchema.optional(),
});

/** Maximum characters of a description used as a name. */
const MAX_NAME = 200;

/** Returns what a Location says about a facility. */
export function mapLocation(
  { identifier, name: called, description, telecom, address }: z.infer<typeof locationSchema>,
  { at }: MappingContext,
): MappedRecord {
  // A type of place, such as `Patient's Home`, has no name of its own.
  const name = called || description?.slice(0, MAX_NAME).toWellFormed();
  const contact = (system: string) => chooseContact(telecom, system, at, 'work');
  const [phone, fax, email] = [contact('phone'), contact('fax'), contact('email')];
  const npi = numberOf(identifier, systems.npi);
  return {
    of: 'record',
    kind: 'facility',
    fields: {
      name,
      ...(npi && { npi }),
      ...(phone && { phone }),
      ...(fax && { fax }),
      ...(email && { email }),
      ...addressFields(address),
    },
    references: [],
    origins: { ...(!called && { name: { at: 'Location.description' } }) },
    issues: name ? [] : [refused('required', 'Location.name', 'Send the name.')],
  };
}
