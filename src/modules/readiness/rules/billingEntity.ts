import { ein, passes } from '../../../domain/records/schema/validation.ts';
import {
  type BilledRecord,
  type BillingEntity,
  type BillingFacts,
  type Fault,
  missing,
  type Rule,
  type RuleSettings,
  textOf,
  wrong,
} from './rule.ts';

/** Returns who is set to bill; undefined where nothing is set: then the facility does, as far as it can be told. */
export function billingEntityOf(
  { facility }: BillingFacts,
  { billingEntities }: RuleSettings,
): BillingEntity | undefined {
  return billingEntities.byFacility.get(facility?.id ?? '') ?? billingEntities.default;
}

/** Returns the provider if it bills: only then a claim carries its address and tax ID. */
export function billingProviderOf(facts: BillingFacts, settings: RuleSettings): BilledRecord | undefined {
  return billingEntityOf(facts, settings) === 'provider' ? facts.provider : undefined;
}

/** Returns the facility or the provider that is set to bill; undefined where nothing is set. */
export function billerOf(facts: BillingFacts, settings: RuleSettings): BilledRecord | undefined {
  const entity = billingEntityOf(facts, settings);
  return entity && facts[entity];
}

const named = ['encounter.facility_id', 'encounter.provider_id'];

export const billingNpi: Rule = {
  code: 'billing_npi',
  severity: 'blocks',
  title: 'The facility has an NPI where it is set as the billing entity',
  source: '45 CFR 162.410; X12 005010X222A1 (837P), loop 2010AA, NM109',
  reads: ['encounter.facility_id', 'facility.npi'],
  check: (facts, settings) =>
    billingEntityOf(facts, settings) === 'facility'
      ? missing(facts.facility, ['npi'], 'A claim needs the NPI of the organization that bills.')
      : [],
};

const facilityNpiMissing: Rule = {
  code: 'facility_npi_missing',
  severity: 'warns',
  title: 'The facility has an NPI, also where it is not set as the billing entity',
  source: 'X12 005010X222A1 (837P), loop 2310C, NM109',
  reads: billingNpi.reads,
  check: (facts, settings) =>
    billingEntityOf(facts, settings) === 'facility'
      ? []
      : missing(facts.facility, ['npi'], 'Many payers expect the NPI of the place of service.'),
};

/** No EIN begins with these (IRS, EIN prefixes by campus). */
const unusedPrefixes = '00 07 08 09 17 18 19 28 29 49 69 70 78 79 89 96 97'.split(' ');

function taxIdFaults(record: BilledRecord | undefined): Fault[] {
  return [
    ...missing(record, ['tax_id'], 'A claim needs the federal tax ID.'),
    ...wrong(record, 'tax_id', passes(ein), 'This is not an EIN, which has nine digits.'),
    ...wrong(
      record,
      'tax_id',
      (value) => !unusedPrefixes.includes(value.slice(0, 2)) && !/^\d\d-?(\d)\1{6}$/.test(value),
      'The IRS has given out no such EIN.',
    ),
  ];
}

const SOURCE = 'X12 005010X222A1 (837P), loop 2010AA, REF*EI; IRS, EIN prefixes by campus';

const facilityTaxId: Rule = {
  code: 'facility_tax_id',
  version: 3,
  severity: 'blocks',
  title: 'The facility has an EIN that the IRS can have given out, unless the provider bills',
  source: SOURCE,
  reads: ['encounter.facility_id', 'facility.tax_id'],
  check: (facts, settings) =>
    billingEntityOf(facts, settings) === 'provider' ? [] : taxIdFaults(facts.facility),
};

const providerTaxId: Rule = {
  code: 'provider_tax_id',
  severity: 'blocks',
  title: 'The provider has an EIN that the IRS can have given out where it is set as the billing entity',
  source: SOURCE,
  reads: [...named, 'provider.tax_id'],
  check: (facts, settings) => taxIdFaults(billingProviderOf(facts, settings)),
};

const sharedNpi: Rule = {
  code: 'npi_shared',
  severity: 'warns',
  title: 'Facility and provider have different NPIs',
  source: '45 CFR 162.402 to 162.412: each organization and each person has a separate NPI',
  reads: [...named, 'encounter.rendering_provider_id', 'facility.npi', 'provider.npi'],
  check({ facility, provider, renderingProvider }) {
    const own = [provider, renderingProvider].map((record) => textOf(record, 'npi'));
    return wrong(
      facility,
      'npi',
      (value) => !own.includes(value),
      'This is the NPI of the provider: an organization has a separate one.',
    );
  },
};

/** Rules about who bills, in the order in which a claim is filled in. */
export const billingEntityRules: readonly Rule[] = [
  billingNpi,
  facilityNpiMissing,
  facilityTaxId,
  providerTaxId,
  sharedNpi,
];
