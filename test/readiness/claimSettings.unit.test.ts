import { describe, expect, test } from 'vitest';
import { filingOf } from '../../src/modules/readiness/rules/filing.ts';
import { lastDayOf, limitOfText, limitText } from '../../src/modules/readiness/rules/filingLimits.ts';
import { appliesAt, findingsOf } from '../../src/modules/readiness/rules/index.ts';
import { noSettings, type RuleSettings } from '../../src/modules/readiness/rules/rule.ts';
import { claimWith, factsOf } from '../support/readiness.ts';
import { type Changes, servedOn } from '../support/ruleExamples.ts';

/** What is found at a moment, each as its rule, kind and field. */
function found(changes: Changes, settings: Partial<RuleSettings>, at = '2026-03-15T12:00:00Z'): string[] {
  return findingsOf(factsOf(claimWith(changes)), { ...noSettings, ...settings })
    .filter((finding) => appliesAt(finding, Date.parse(at)))
    .map(({ rule, record, field }) => `${rule.code} ${record.kind}.${field}`);
}

describe('filing limits', () => {
  test.each([
    ['2026-03-14', 'P90D', '2026-06-12'],
    ['2027-03-14', 'P1Y', '2028-03-14'],
    ['2027-03-14', 'P365D', '2028-03-13'],
    ['2027-03-14', 'P366D', '2028-03-14'],
    ['2026-03-14', 'P366D', '2027-03-15'],
    ['2028-02-29', 'P1Y', '2029-02-28'],
    ['2028-02-29', 'P4Y', '2032-02-29'],
    ['2026-08-31', 'P6M', '2027-02-28'],
    ['2026-01-31', 'P1M', '2026-02-28'],
    ['2026-12-31', 'P12M', '2027-12-31'],
    ['2026-12-15', 'P2M', '2027-02-15'],
  ])('of a visit on %s a limit of %s ends on %s', (day, limit, last) => {
    expect(lastDayOf(day, limit)).toBe(last);
  });

  test.each([
    ['90', 'P90D', '90 days'],
    ['90d', 'P90D', '90 days'],
    ['6m', 'P6M', '6 months'],
    ['1Y', 'P1Y', '1 year'],
    ['P1D', 'P1D', '1 day'],
  ])('%s is %s: %s', (text, limit, shown) => {
    expect(limitOfText(text)).toBe(limit);
    expect(limitText(limit)).toBe(shown);
  });

  test.each(['0', '1 year', '-1d', '12345d', 'none', ''])('%j is no limit', (text) => {
    expect(limitOfText(text)).toBeUndefined();
  });

  const limits = {
    default: 'P30D',
    byPayer: new Map([['w', 'P10D']]),
    byType: new Map([['medicaid', 'P90D']]),
  };
  test.each([
    ['w', 'Medicare', 'P10D'],
    ['v', 'Medicare', 'P1Y'],
    ['v', 'TRICARE', 'P1Y'],
    ['v', 'Medicaid', 'P90D'],
    ['v', 'Private', 'P30D'],
    ['v', undefined, 'P30D'],
    ['v', 'Self-Pay', undefined],
  ])('the payer %s of the type %s has the limit %s', (id, payer_type, limit) => {
    const facts = factsOf(claimWith({ ...servedOn('2026-03-14', id), payer: { id, payer_type } }));
    expect(filingOf(facts, { ...noSettings, filingLimits: limits })?.limit).toBe(limit);
    expect(filingOf(facts, noSettings)?.limit).toBe(
      limit === 'P1Y' || payer_type === 'Medicare' ? 'P1Y' : payer_type === 'Medicaid' ? 'P12M' : undefined,
    );
  });
});

describe('the time zone of a workspace', () => {
  const chicago = { timeZone: 'America/Chicago' };
  const lastDay = (date_of_service: string, settings: Partial<RuleSettings>) => {
    const facts = factsOf(claimWith({ encounter: { date_of_service }, payer: { payer_type: 'Medicare' } }));
    return filingOf(facts, { ...noSettings, ...settings });
  };

  test.each([
    ['2026-03-14T02:30:00Z', '2027-03-13'],
    ['2026-03-14T02:30:00+00:00', '2027-03-13'],
    ['2026-03-14T12:00:00Z', '2027-03-14'],
    // Sent as the day itself, or by clocks that are not those of UTC.
    ['2026-03-14T00:00:00Z', '2027-03-14'],
    ['2026-03-14T00:00:00.000Z', '2027-03-14'],
    ['2026-03-14', '2027-03-14'],
    ['2026-03-14T02:30:00', '2027-03-14'],
    ['2026-03-14T02:30:00-05:00', '2027-03-14'],
    ['2026-03-14T02:30:00+09:00', '2027-03-14'],
  ])('a visit at %s is filed until %s', (date, last) => {
    expect(lastDay(date, chicago)?.lastDay).toBe(last);
    expect(lastDay(date, {})?.lastDay).toBe('2027-03-14');
  });

  test('the last day for filing ends with the day of the workspace, also where clocks were set', () => {
    const end = (settings: Partial<RuleSettings>, day: string) =>
      new Date(lastDay(day, settings)?.end as number).toISOString();
    expect(end(chicago, '2025-03-15')).toBe('2026-03-16T05:00:00.000Z');
    expect(end(chicago, '2025-11-01')).toBe('2026-11-02T06:00:00.000Z');
    expect(end(chicago, '2025-01-15')).toBe('2026-01-16T06:00:00.000Z');
    expect(end({ timeZone: 'Pacific/Auckland' }, '2025-03-15')).toBe('2026-03-15T11:00:00.000Z');
    expect(end({}, '2025-03-15')).toBe('2026-03-16T00:00:00.000Z');
  });

  test('coverage, birth and days to come are those of the local day', () => {
    const evening = { date_of_service: '2026-03-14T03:00:00Z' };
    const { primary_insurance: primary } = claimWith().patient as { primary_insurance: object };
    const covered = { patient: { primary_insurance: { ...primary, effective_date: '2026-03-14' } } };
    const late = 'coverage_not_in_force patient.primary_insurance.effective_date';
    expect(found({ encounter: evening, ...covered }, {})).toEqual([]);
    expect(found({ encounter: evening, ...covered }, chicago)).toEqual([late]);
    const born = { encounter: evening, patient: { date_of_birth: '2026-03-14' } };
    expect(found(born, {})).toEqual([]);
    expect(found(born, chicago)).toContain('service_before_birth encounter.date_of_service');
    const today = { encounter: { date_of_service: '2026-03-16' } };
    const future = 'service_date_in_future encounter.date_of_service';
    expect(found(today, {}, '2026-03-16T04:59:59Z')).toEqual([]);
    expect(found(today, chicago, '2026-03-16T04:59:59Z')).toEqual([future]);
    expect(found(today, chicago, '2026-03-16T05:00:00Z')).toEqual([]);
  });
});

describe('the billing entity', () => {
  const by = (entity: 'facility' | 'provider'): Partial<RuleSettings> => ({
    billingEntities: { default: entity, byFacility: new Map() },
  });
  const set = { facility: by('facility'), provider: by('provider'), none: {} };
  type Biller = keyof typeof set;

  test.each<[Changes, Partial<Record<Biller, string[]>>]>([
    [{}, {}],
    [
      { facility: { npi: undefined } },
      {
        facility: ['billing_npi facility.npi'],
        provider: ['facility_npi_missing facility.npi'],
        none: ['facility_npi_missing facility.npi'],
      },
    ],
    [
      { facility: { tax_id: undefined } },
      { facility: ['facility_tax_id facility.tax_id'], none: ['facility_tax_id facility.tax_id'] },
    ],
    [{ provider: { tax_id: undefined } }, { provider: ['provider_tax_id provider.tax_id'] }],
    [
      { provider: { address_line_1: undefined } },
      { provider: ['address_incomplete provider.address_line_1'] },
    ],
    [{ provider: { address_line_1: 'PO Box 4' } }, { provider: ['po_box provider.address_line_1'] }],
    [{ provider: { address_line_1: 'UNKNOWN' } }, { provider: ['placeholder provider.address_line_1'] }],
    [{ provider: { zip_code: '68102' } }, { provider: ['billing_zip provider.zip_code'] }],
    [{ provider: { zip_code: '10001-1234' } }, { provider: ['zip_of_other_state provider.state'] }],
    [{ provider: { country: 'Narnia' } }, { provider: ['country_code provider.country'] }],
    [
      { facility: { zip_code: '68102' } },
      {
        facility: ['billing_zip facility.zip_code'],
        provider: ['zip_plus_four facility.zip_code'],
        none: ['zip_plus_four facility.zip_code'],
      },
    ],
    [
      { facility: { address_line_1: undefined } },
      Object.fromEntries(
        Object.keys(set).map((biller) => [biller, ['address_incomplete facility.address_line_1']]),
      ),
    ],
    [
      { provider: { npi: undefined } },
      Object.fromEntries(Object.keys(set).map((biller) => [biller, ['provider_npi provider.npi']])),
    ],
  ])('of %j each finds what its claim needs', (changes, expected) => {
    for (const [biller, settings] of Object.entries(set))
      expect([biller, found(changes, settings)]).toEqual([biller, expected[biller as Biller] ?? []]);
  });

  test('a facility may differ from the workspace', () => {
    const settings: Partial<RuleSettings> = {
      billingEntities: { default: 'facility', byFacility: new Map([['f', 'provider']]) },
    };
    const changes = { provider: { tax_id: undefined }, facility: { npi: undefined } };
    const ofProvider = ['facility_npi_missing facility.npi', 'provider_tax_id provider.tax_id'];
    expect(found(changes, settings)).toEqual(ofProvider);
    const elsewhere = { ...changes, facility: { id: 'g', npi: undefined } };
    expect(found(elsewhere, settings)).toEqual(['billing_npi facility.npi']);
  });
});
