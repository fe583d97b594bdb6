import type { RuleCodes } from './payerRuleData.ts';
import type { Rule } from './rule.ts';

type AllCodes = { [List in keyof RuleCodes]-?: string[] };

/** Codes separated by blanks: of a claim status, of an adjustment reason, of a remark, and boxes of the CMS-1500. */
type Listed = readonly [status: string, carc: string, rarc: string, box: string];

/** By the codes of the rules: bare numbers, as the texts of the lists are licensed. */
const listed: Readonly<Record<string, Listed>> = {
  service_date_missing: ['187', '16', 'M52', '24A'],
  service_date_in_future: ['187 510', '110', 'M52', '24A'],
  service_before_birth: ['158 187', '14', 'N329', '3 24A'],
  timely_filing: ['718', '29', '', '24A'],
  filing_limit_near: ['718', '29', '', '24A'],
  filing_limit_unknown: ['718', '29', '', '24A'],
  provider_missing: ['562', '16', 'N257 N290', '24J 33'],
  provider_npi: ['562', '206 207', 'N257 N290', '24J 33a'],
  taxonomy_code: ['145', '16', 'N255 N288', '24J 33b'],
  taxonomy_code_missing: ['145', '16', 'N255 N288', '24J 33b'],
  taxonomy_of_organization: ['145 775', '16', 'N255 N288', '24J 33b'],
  rendering_role: ['562', '16', 'N290', '24J'],
  facility_missing: ['249', '16', 'MA114', '32'],
  facility_npi: ['562', '207', 'N293', '32a'],
  clia_number: ['', '16', 'MA120', '23'],
  clia_number_form: ['', '16', 'MA120', '23'],
  visit_type_missing: ['249', '16', 'M77', '24B'],
  facility_type_missing: ['249', '16', 'M77', '24B'],
  visit_at_facility: ['249', '5', 'M77', '24B'],
  billing_npi: ['562', '206', 'N257', '33a'],
  facility_npi_missing: ['562', '206', 'N293', '32a'],
  facility_tax_id: ['128', '16', 'MA113', '25'],
  provider_tax_id: ['128', '16', 'MA113', '25'],
  npi_shared: ['562', '208', 'N257', '24J 33a'],
  document_missing: ['', '252', '', '19'],
  primary_insurance_missing: ['116', '109', '', '1 11'],
  insurance_rank_gap: ['171 742', '22', 'MA92', '9 11d'],
  insurance_order: ['171 742', '22', 'MA04 MA83', '9 11d'],
  coverage_not_in_force: ['88', '26 27', '', '1a 24A'],
  policy_number_missing: ['164', '31', 'N382', '1a'],
  medicare_member_id: ['164', '31', 'N382 MA27', '1a'],
  medicare_subscriber: ['156', '31', 'MA27 MA60', '6'],
  medicaid_subscriber: ['156', '31', 'MA60 N382', '6'],
  subscriber_incomplete: ['125 504 505', '16', 'MA92', '4'],
  subscriber_birth_date_missing: ['158', '16', '', '11a'],
  subscriber_mismatch: ['33 156', '31 140', 'MA60', '4 6 11a'],
  subscriber_implausible: ['156 158', '31 140', 'MA60', '4 6 11a'],
  subscriber_address: ['500 501', '16', 'MA88', '7'],
  payer_code_missing: ['116', '109', '', ''],
  payer_code_unlisted: ['116', '109', '', ''],
  payer_type_missing: ['578', '16', '', '1'],
  other_insurance: ['171', '22', 'MA92', '9 9a 9d'],
  birth_date: ['158', '16', 'N329', '3'],
  gender_missing: ['157', '16', 'MA39', '3'],
  address_incomplete: ['500 501 502 503', '16', 'MA37 N258 N294', '5 32 33'],
  zip_of_other_state: ['500 501', '16', 'MA37 N258', '5 32 33'],
  country_code: ['680', '16', 'MA37 N258 N294', '5 32 33'],
  payer_address: ['500 501', '', '', ''],
  po_box: ['503', '16', 'N258 N294', '32 33'],
  zip_plus_four: ['500', '16', 'N258 N294', '32 33'],
  billing_zip: ['500', '16', 'N258', '33'],
  placeholder: ['125 126 164', '16 31', 'MA36 N382', '1a 2 4 5 33'],
  member_id_ssn: ['164', '31', 'MA61', '1a'],
  member_id_like_ssn: ['164', '31', 'MA61', '1a'],
  name_form: ['125 504 505 511 512', '16', 'MA36', '2 4 31 33'],
  npi_unknown: ['562', '208', 'N257 N290 N293', '24J 32a 33a'],
  npi_deactivated: ['562', '208', 'N257 N290 N293', '24J 32a 33a'],
  npi_entity_type: ['562 775', '208', 'N257 N290 N293', '24J 32a 33a'],
  clia_unlisted: ['', '16 B7', 'MA120', '23'],
  cancelled_visit: ['', '16', '', '24A'],
  duplicate_of_billed: ['54', '18', '', '24A'],
  suspected_duplicate: ['54', '18', '', '24A'],
  changed_after_billing: ['', '', '', '22'],
};

const wordsOf = (codes: string) => (codes === '' ? [] : codes.split(' '));

/** Returns the bare codes under which claims with findings of a rule are refused, as far as they are known; empty where none are. */
export function codesFor({ code, codes: own = {} }: Pick<Rule, 'code' | 'codes'>): AllCodes {
  const [status = [], carc = [], rarc = [], box = []] = listed[code]?.map(wordsOf) ?? [];
  return {
    status: own.status ?? status,
    carc: own.carc ?? carc,
    rarc: own.rarc ?? rarc,
    box: own.box ?? box,
  };
}
