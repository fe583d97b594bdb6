import type { RuleSettings } from '../../modules/readiness/rules/rule.ts';
import { ruleTitle } from './text.ts';

/** What is wrong with an encounter in which a rule finds something, by the rule's code. */
const defects: Readonly<Record<string, string>> = {
  timely_filing: 'Filing limit has passed',
  filing_limit_near: 'Filing limit is near',
  service_before_birth: 'Service before birth',
  service_date_in_future: 'Date of service in the future',
  service_date_missing: 'No date of service',
  changed_after_billing: 'Changed after billing',
  document_missing: 'Required document missing',
  suspected_duplicate: 'Possible duplicate',
  duplicate_of_billed: 'Duplicate of a billed encounter',
  cancelled_visit: 'Cancelled, or no-show',
  clia_number: 'No valid CLIA number',
  clia_number_form: 'Malformed CLIA number',
  facility_missing: 'No facility',
  facility_npi: 'Invalid facility NPI',
  facility_tax_id: 'No valid EIN',
  visit_at_facility: 'Visit type does not fit the facility',
  coverage_not_in_force: 'Not covered on the date of service',
  insurance_rank_gap: 'Gap in the insurance ranks',
  payer_code_missing: 'No payer ID',
  payer_code_unlisted: 'Payer ID unknown to the clearinghouse',
  policy_number_missing: 'No member ID',
  primary_insurance_missing: 'No primary insurance',
  subscriber_incomplete: 'Subscriber not named',
  subscriber_birth_date_missing: 'No date of birth of the subscriber',
  subscriber_mismatch: 'Subscriber contradicts the relationship',
  subscriber_implausible: 'Implausible subscriber',
  medicare_member_id: 'No valid Medicare number',
  medicare_subscriber: 'Medicare under another subscriber',
  medicaid_subscriber: 'Medicaid under another subscriber',
  address_incomplete: 'Incomplete address',
  country_code: 'Invalid country code',
  zip_of_other_state: 'ZIP code of another state',
  po_box: 'Post office box as street address',
  zip_plus_four: 'ZIP code without four more digits',
  birth_date: 'Implausible date of birth',
  gender_missing: 'No gender',
  npi_unknown: 'NPI not in NPPES',
  npi_deactivated: 'Deactivated NPI',
  npi_entity_type: 'NPI of another kind of provider',
  clia_unlisted: 'CLIA number not listed, or ended',
  placeholder: 'Placeholder instead of a value',
  member_id_ssn: 'Social Security number as member ID',
  name_form: 'Malformed name',
  provider_missing: 'No provider',
  provider_npi: 'No valid NPI',
  rendering_role: 'Rendering provider gives no care',
  taxonomy_code: 'Invalid taxonomy code',
  taxonomy_code_missing: 'No taxonomy code',
};

/** Returns the defect that a rule finds; for one without a name, what the rule requires, as `ruleTitle` does. */
export function defectText(code: string, settings?: Pick<RuleSettings, 'payerRules'>): string {
  return defects[code] ?? ruleTitle(code, settings);
}
