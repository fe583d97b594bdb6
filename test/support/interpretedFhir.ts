import type { JsonObject } from '../../src/domain/events/event.ts';
import type { Origin, Origins } from '../../src/modules/integrations/apply.ts';
import { Interpreter } from '../../src/modules/integrations/fhir/interpreter.ts';
import type { FhirRecords } from '../../src/modules/integrations/fhir/references.ts';
import { originsOf } from '../../src/modules/integrations/fhir/send.ts';
import { flatFields } from '../../src/modules/integrations/fields.ts';
import type { Mapping } from '../../src/modules/integrations/mapping.ts';

import { issuesIn } from './fhir.ts';

const AT = Date.UTC(2026, 2, 14, 12);
export const PDF = Buffer.from('%PDF-1.7\n');
export const coded = (code: string, system?: string) => ({ coding: [{ code, ...(system && { system }) }] });

/** The records of a workspace that has one patient and one provider. */
const records: FhirRecords = {
  async current(kind, id) {
    const fields = { id, first_name: 'Ada', last_name: 'King', date_of_birth: '1980-02-29' };
    return id === 'known' ? { version: 3, fields: { ...fields, kind } } : undefined;
  },
  async havingNumber(_kind, _field, value) {
    return value === '1234567893' ? ['known'] : value === '1000000004' ? ['one', 'two'] : [];
  },
};

/** What a message comes to: the fields of its operations, by kind, and the issues of its entries. */
export async function told(...resources: JsonObject[]) {
  return toldBy({}, ...resources);
}

/** The same of a source with a mapping of its own. */
export async function toldBy(mapping: Mapping, ...resources: JsonObject[]) {
  const entries = resources.map(({ ifAbsent, ...resource }) => ({
    ...{ at: '', resource, fullUrl: `urn:uuid:${resource.id}` },
    ...(ifAbsent === true && { ifAbsent }),
  }));
  const context = { at: AT, timeZone: 'UTC', idSystems: { Patient: 'urn:mrn' }, mapping };
  const { entries: read, operations } = await new Interpreter(records, context).interpret(entries);
  const issue = read.flatMap(({ issues }) =>
    issues.map(({ severity, code, expression }) => ({ severity, code, expression: [expression] })),
  );
  return { operations, issues: issuesIn({ issue }) };
}

/** Where what a Bundle of these resources says comes from: the origins of the first record of a kind, or all of them. */
export async function originsBy(mapping: Mapping, ...resources: JsonObject[]) {
  const entries = resources.map((resource, index) => ({
    ...{ at: `Bundle.entry[${index}].resource`, resource, fullUrl: `urn:uuid:${resource.id}` },
  }));
  const context = { at: AT, timeZone: 'UTC', idSystems: { Patient: 'urn:mrn' }, mapping };
  const interpreted = await new Interpreter(records, context).interpret(entries);
  const origins = originsOf(interpreted, context);
  function find(kind: string): Origins;
  function find(): { field: string; origin: Origin | undefined }[];
  function find(kind?: string) {
    if (kind !== undefined) {
      const operation = interpreted.operations.find((one) => one.type === 'record' && one.kind === kind);
      return operation && origins.get(operation);
    }
    return interpreted.operations.flatMap((one) => {
      const told = one.type === 'record' ? flatFields(one.fields) : [['category'], ['file']];
      return told.map(([field]) => ({ field: String(field), origin: origins.get(one)?.[String(field)] }));
    });
  }
  return find;
}

/** The fields of the record that a message writes last. */
export async function fieldsOf(...resources: JsonObject[]): Promise<JsonObject> {
  const { operations } = await told(...resources);
  const last = operations.at(-1);
  return last?.type === 'record' ? last.fields : {};
}

export const known = { identifier: { system: 'urn:mrn', value: 'known' } };
export const payer = { display: 'Elm Health' };
export const document = (attachment: object, fields: JsonObject = {}): JsonObject => ({
  ...{ resourceType: 'DocumentReference', id: 'd', status: 'current' },
  content: [{ attachment: { contentType: 'application/pdf', data: PDF.toString('base64'), ...attachment } }],
  context: { encounter: [{ reference: 'Encounter/1' }] },
  ...fields,
});
export const role = (fields: JsonObject = {}): JsonObject => ({
  ...{ resourceType: 'PractitionerRole', id: 'r', practitioner: { reference: 'Practitioner/known' } },
  specialty: [coded('207Q00000X', 'http://nucc.org/provider-taxonomy')],
  ...fields,
});
export const benefit = (inside: JsonObject): JsonObject => ({
  ...{ resourceType: 'ExplanationOfBenefit', id: 'e', patient: known },
  contained: [{ resourceType: 'Coverage', status: 'active', payor: [payer], ...inside }],
  insurance: [{ coverage: { reference: '#c' } }],
});
export const place = (fields: JsonObject): JsonObject => ({ resourceType: 'Location', id: 'l', ...fields });
