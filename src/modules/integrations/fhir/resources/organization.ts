import { z } from 'zod';
import { systems } from '../../../../domain/fhirElements.ts';
import { inTable } from '../../mapping.ts';
import {
  addressFields,
  addressSchema,
  chooseAddress,
  chooseContact,
  codeableConceptSchema,
  codingsOf,
  contactPointSchema,
  identifierSchema,
  listOf,
  numberOf,
  ofCodes,
  textsSchema,
} from './elements.ts';
import { type MappedRecord, type MappingContext, refused } from './issues.ts';

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

/** The parts of an Organization (FHIR R4, 8.6) that are used. */
export const organizationSchema = z.object({
  resourceType: z.literal('Organization'),
  id: z.string().optional(),
  identifier: listOf(identifierSchema).optional(),
  type: listOf(codeableConceptSchema).optional(),
  name: z.string().optional(),
  alias: textsSchema.optional(),
  telecom: listOf(contactPointSchema).optional(),
  address: listOf(addressSchema).optional(),
});
type Organization = z.infer<typeof organizationSchema>;

/** Codes of organization-type for organizations that pay. */
const PAYING = ['pay', 'ins'];

/**
 * Whether an organization is a payer: according to the source's mapping, otherwise by its type, which those that give
 * care have, too. `id`: of its record.
 */
export function isPayer(
  { type = [] }: Organization,
  { mapping: { organization_ids, organization_types } }: Pick<MappingContext, 'mapping'>,
  id: string | undefined,
): boolean {
  const own = inTable(organization_ids, id ?? '') ?? ofCodes(organization_types, codingsOf(type));
  if (own !== undefined) return own === 'payer';
  return type.some(({ coding = [] }) =>
    coding.some(({ code }) => code !== undefined && PAYING.includes(code)),
  );
}

/** Returns what an Organization says about a payer, or otherwise about a facility. */
export function mapOrganization(
  organization: Organization,
  context: MappingContext,
  id: string | undefined,
): MappedRecord {
  const isPaying = isPayer(organization, context, id);
  const name = organization.name ?? organization.alias?.[0];
  return {
    of: 'record',
    kind: isPaying ? 'payer' : 'facility',
    fields: {
      name,
      ...(isPaying ? payerFields(organization, context) : facilityFields(organization, context)),
    },
    references: [],
    origins: { ...(organization.name === undefined && { name: { at: 'Organization.alias' } }) },
    issues: name ? [] : [refused('required', 'Organization.name', 'Send the name.')],
  };
}

function payerFields({ identifier, telecom, address }: Organization, { at }: MappingContext) {
  const contact = (system: string) => chooseContact(telecom, system, at, 'work');
  const [phone, fax, email, website] = ['phone', 'fax', 'email', 'url'].map(contact);
  const { address_line_1, address_line_2, ...place } = addressFields(chooseAddress(address, at));
  const code = numberOf(identifier, systems.naic);
  return {
    ...(code && { payer_code: code }),
    ...(phone && { contact_phone: phone }),
    ...(fax && { fax }),
    ...(email && { contact_email: email }),
    ...(website && { website }),
    ...(address_line_1 && { address_line1: address_line_1 }),
    ...(address_line_2 && { address_line2: address_line_2 }),
    ...place,
  };
}

function facilityFields({ identifier, telecom, address }: Organization, { at }: MappingContext) {
  const contact = (system: string) => chooseContact(telecom, system, at, 'work');
  const [phone, fax, email] = ['phone', 'fax', 'email'].map(contact);
  const [npi, ein, clia] = [systems.npi, systems.ein, systems.clia].map((one) => numberOf(identifier, one));
  return {
    ...(npi && { npi }),
    ...(ein && { tax_id: ein }),
    ...(clia && { clia_number: clia }),
    ...(phone && { phone }),
    ...(fax && { fax }),
    ...(email && { email }),
    ...addressFields(chooseAddress(address, at)),
  };
}
