import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  type Mapping,
  mappingOptions,
  mappingPlaces,
  mappingSchema,
} from '../../src/modules/integrations/mapping.ts';
import { coded, document, fhirEncounter, fhirPayer, known, toldBy } from '../support/fhir.ts';

import { fieldsOf, hl7Fixture, hl7Message, hl7Source, mapped, pid } from './hl7Messages.ts';

type Segments = [string, Record<number, string>][];

describe('of a source of HL7 v2', () => {
  const read = (segments: Segments, mapping: Mapping, kind = 'ADT^A01') =>
    mapped(hl7Message(kind, segments), { ...hl7Source, mapping: mappingSchema.parse(mapping) });
  const visit = (fields: Record<number, string>): Segments => [pid, ['PV1', fields]];

  test('codes of PV1-2 have the visit type of its table, also those that say nothing to others', () => {
    const visit_types = { OBV: 'observation', O: 'office_visit', U: 'telehealth' } as const;
    const typeOf = (code: string) =>
      fieldsOf(read(visit({ 2: code, 19: 'V-1' }), { visit_types }), 'encounter').visit_type;
    expect(['OBV', 'O', 'U', 'I', 'constructor'].map(typeOf)).toEqual([
      ...['observation', 'office_visit', 'telehealth', 'inpatient', undefined],
    ]);
  });

  test.each(['PV1-50', 'PID-18'] as const)(
    'the visit has its number from %s, and from nowhere else',
    (visit_id) => {
      const [segment, field] = visit_id.split('-');
      const segments: Segments = [
        ['PID', { ...pid[1], ...(segment === 'PID' && { 18: 'A-7^^^VISITS' }) }],
        ['PV1', { 2: 'O', 19: 'V-1', ...(segment === 'PV1' && { 50: 'A-7^^^VISITS' }) }],
      ];
      expect(fieldsOf(read(segments, { visit_id }), 'encounter').id).toBe('A-7');
      expect(read(visit({ 2: 'O', 19: 'V-1' }), { visit_id }, 'ADT^A03')).toMatchObject({
        issues: [{ severity: 'error', code: '101', location: `${segment}^1^${field}` }],
      });
      expect(read(visit({ 2: 'O', 19: 'V-1' }), { visit_id }, 'SIU^S12')).toMatchObject({
        ...{ operations: [], issues: [{ severity: 'warning', location: `${segment}^1^${field}` }] },
      });
    },
  );

  test('insurances have payer and policy number from where it says; a Social Security number is none', () => {
    const insured: Record<number, string> = {
      ...{ 1: '1', 2: 'PLAN-1', 3: 'CO-1', 4: 'Aetna', 36: 'POL-36', 49: '999^^^^SS~MEM-49^^^^MC' },
    };
    const insurance = (mapping: Mapping) =>
      fieldsOf(read([pid, ['IN1', insured]], mapping, 'ADT^A31'), 'patient').primary_insurance;
    expect(insurance({})).toMatchObject({ payer_id: 'CO-1', policy_number: 'POL-36' });
    expect(insurance({ payer_id: 'IN1-2', policy_number: 'IN1-49' })).toMatchObject({
      ...{ payer_id: 'PLAN-1', policy_number: 'MEM-49' },
    });
    expect(insurance({ payer_id: 'IN1-4', policy_number: 'IN1-2' })).toMatchObject({
      ...{ payer_id: 'Aetna', policy_number: 'PLAN-1' },
    });
    expect(read([pid, ['IN1', { 1: '1', 3: 'CO-1' }]], { payer_id: 'IN1-2' }, 'ADT^A31')).toMatchObject({
      issues: [{ severity: 'error', location: 'IN1^1^2' }],
    });
  });

  test('documents have the category of its table', () => {
    const category = (mapping: Mapping) => {
      const said = mapped(hl7Fixture('mdm-t02-document'), { ...hl7Source, mapping });
      return 'operations' in said ? said.operations.find((one) => one.type === 'document')?.category : said;
    };
    expect(category({ document_categories: { DS: 'medical_record', XX: 'referral' } })).toBe(
      'medical_record',
    );
    expect(category({ document_categories: { XX: 'referral' } })).toBe('discharge_summary');
  });
});

describe('of a source of FHIR', () => {
  const last = async (mapping: Mapping, ...resources: Parameters<typeof fhirEncounter>[0][]) => {
    const { operations, issues } = await toldBy(mapping, ...(resources as []));
    return { operation: operations.at(-1), issues };
  };

  test('an encounter has the visit type of its table: by type, else by class, with their system or without', async () => {
    const encounter = {
      ...fhirEncounter(known),
      class: { system: 'urn:class', code: 'SS' },
      type: [coded('99213', 'urn:cpt')],
    };
    const typeBy = async (visit_types: Mapping['visit_types']) => {
      const { operation, issues } = await last({ visit_types }, encounter);
      return [operation?.type === 'record' && operation.fields.visit_type, issues.length];
    };
    expect(await typeBy({ SS: 'surgical', '99213': 'office_visit' })).toEqual(['office_visit', 0]);
    expect(await typeBy({ SS: 'surgical', 'urn:cpt|99213': 'office_visit' })).toEqual(['office_visit', 0]);
    expect(await typeBy({ 'urn:class|SS': 'surgical', 'urn:other|99213': 'office_visit' })).toEqual([
      'surgical',
      0,
    ]);
    expect(await typeBy({})).toEqual([undefined, 1]);
  });

  test('a document has the category of its table, before that by LOINC', async () => {
    const sent = document({}, { type: coded('18842-5', 'http://loinc.org'), category: [coded('notes')] });
    expect((await last({ document_categories: { notes: 'doctor_notes' } }, sent)).operation).toMatchObject({
      category: 'doctor_notes',
    });
    expect((await last({}, sent)).operation).toMatchObject({ category: 'discharge_summary' });
  });

  test('an organization is a payer or a facility as it says, by its id before its type', async () => {
    const insurer = { ...fhirPayer(), id: 'org-1' };
    const clinic = { resourceType: 'Organization', id: 'org-2', name: 'Elm', type: [coded('bus')] };
    const kinds = async (mapping: Mapping) => {
      const { operations } = await toldBy(mapping, insurer, clinic);
      return operations.map((one) => one.type === 'record' && one.kind);
    };
    expect(await kinds({})).toEqual(['payer', 'facility']);
    expect(await kinds({ organization_types: { bus: 'payer' } })).toEqual(['payer', 'payer']);
    expect(
      await kinds({
        organization_types: { bus: 'payer' },
        organization_ids: { 'org-1': 'facility', 'org-2': 'facility' },
      }),
    ).toEqual(['facility', 'facility']);
  });

  test('who pays is a payer, whatever the mapping says of organizations', async () => {
    const inside = { resourceType: 'Organization', id: 'p', name: 'Elm Health', type: [coded('pay')] };
    const coverage = {
      ...{ resourceType: 'Coverage', id: 'c', status: 'active', beneficiary: known, contained: [inside] },
      payor: [{ reference: '#p' }],
    };
    const { operations, issues } = await toldBy({ organization_types: { pay: 'facility' } }, coverage);
    expect(issues).toEqual([]);
    expect(operations).toMatchObject([{ kind: 'payer', fields: { id: 'Elm Health' } }, { kind: 'patient' }]);
  });
});

test('the guide to sources names every option, and of places each, the usual one first', () => {
  const guide = readFileSync('docs/guides/sources.md', 'utf8');
  const rows = [...guide.matchAll(/^\| `(\w+)` +\| (?:both|FHIR|HL7 v2) +\| (.+) \|$/gm)];
  expect(rows.map(([, option]) => option).toSorted()).toEqual(mappingOptions.toSorted());
  for (const [option, places] of Object.entries(mappingPlaces)) {
    const row = rows.find(([, named]) => named === option)?.[2] ?? '';
    expect([...row.matchAll(/[A-Z]\w\w-\d+/g)].map(([place]) => place)).toEqual(places);
  }
});
