import { z } from 'zod';
import { addressFields } from './addressFields.ts';
import { chooseAddress, chooseContact, chooseName } from './choose.ts';
import { addressSchema, contactPointSchema, humanNameSchema, identifierSchema, listOf } from './dataTypes.ts';
import { numberOf, systems } from './identifiers.ts';
import { type Issue, refused } from './issue.ts';
import type { MappedRecord, MappingContext } from './mapped.ts';

/** The parts of a Practitioner (FHIR R4, 8.4) that are used. */
export const practitionerSchema = z.object({
  resourceType: z.literal('Practitioner'),
  id: z.string().optional(),
  identifier: listOf(identifierSchema).optional(),
  name: listOf(humanNameSchema).optional(),
  telecom: listOf(contactPointSchema).optional(),
  address: listOf(addressSchema).optional(),
});

/** Returns what a Practitioner says about a provider. */
export function mapPractitioner(
  practitioner: z.infer<typeof practitionerSchema>,
  { at }: MappingContext,
): MappedRecord {
  const { identifier, name: names, telecom, address } = practitioner;
  const issues: Issue[] = [];
  const name = chooseName(names, at);
  const [given, family] = [name?.given?.[0], name?.family];
  if (!given || !family) {
    issues.push(refused('required', 'Practitioner.name', 'Send a name with given and family.'));
  }
  const npi = numberOf(identifier, systems.npi);
  const contact = (system: string) => chooseContact(telecom, system, at, 'work');
  const [phone, email] = [contact('phone'), contact('email')];
  return {
    of: 'record',
    kind: 'provider',
    fields: {
      first_name: given,
      last_name: family,
      ...(npi && { npi }),
      ...(phone && { phone }),
      ...(email && { email }),
      ...addressFields(chooseAddress(address, at)),
    },
    references: [],
    issues,
  };
}
