import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/domain/events/event.ts';
import { catalog } from '../../src/domain/records/catalog.ts';
import { MAX_FILENAME_LENGTH } from '../../src/domain/records/document.ts';
import type { FhirEntry } from '../../src/modules/integrations/fhir/bundle.ts';
import { type Interpreted, Interpreter } from '../../src/modules/integrations/fhir/interpreter.ts';
import type { FhirRecords } from '../../src/modules/integrations/fhir/references.ts';
import { recordOf } from '../../src/modules/integrations/operations.ts';

import type { TestResponse } from '../support/client.ts';
import {
  bundle,
  edited,
  edits,
  FHIR_JSON,
  fhirEncounter,
  fhirPatient,
  fhirPractitioner,
  referTo,
  sendFhir,
  statusesIn,
  validResources,
} from '../support/fhir.ts';
import { startTestService, type TestService } from '../support/service.ts';

/** In the resources of the tests; no issue may tell it. */
const LAST_NAME = 'Lovelace';

const kinds = catalog.map(({ kind }) => kind);

/** Records of a workspace in which some ids and numbers are known, and some numbers twice. */
const records: FhirRecords = {
  async current(_kind, id) {
    const fields = { id, first_name: 'Ada', last_name: 'King', primary_insurance: { payer_id: 'Oak' } };
    return id.length % 3 === 0 ? { version: 2, fields } : undefined;
  },
  async havingNumber(_kind, _field, value) {
    return ['one', 'two'].slice(0, value.length % 3);
  },
};

function interpreted(entries: FhirEntry[]) {
  const context = {
    at: Date.UTC(2026, 2, 14),
    timeZone: 'UTC',
    idSystems: { Patient: 'urn:mrn' },
    mapping: {},
  };
  return new Interpreter(records, context).interpret(entries);
}

/** Some of the resources, in any order, with changes; each keeps its address. */
const messages = (resources: JsonObject[]) =>
  fc.tuple(fc.shuffledSubarray(resources, { minLength: 1 }), edits).map(([some, changes]) =>
    Object.values(edited(some, changes)).map((resource, index) => ({
      ...{ at: `Bundle.entry[${index}].resource`, resource },
      fullUrl: `urn:uuid:${some[index]?.id}`,
    })),
  );

/** What is wrong with what a message came to; throws for operations that are no data, such as a function of a prototype. */
function faultsOf({ entries, operations }: Interpreted): unknown[] {
  structuredClone(operations);
  return [
    ...entries.filter(({ issues, operation, identity }) => {
      const isSilent = issues.length === 0 && operation === undefined;
      return isSilent && identity.type !== 'ExplanationOfBenefit';
    }),
    ...entries.flatMap(({ issues }) =>
      issues.filter(
        ({ expression, diagnostics }) =>
          !/^[\w.[\]-]*$/.test(expression) || diagnostics.includes(LAST_NAME) || diagnostics.length > 500,
      ),
    ),
    ...operations.filter((one) =>
      one.type === 'document'
        ? typeof one.category !== 'string' || [...one.fileName].length > MAX_FILENAME_LENGTH
        : !kinds.includes(recordOf(one).kind) || typeof recordOf(one).id !== 'string',
    ),
  ];
}

test('whatever a message says, it comes to operations or to what is wrong with it', async () => {
  await fc.assert(
    fc.asyncProperty(messages(validResources()), async (entries) => {
      const told = await interpreted(entries);
      if (told.entries.length !== entries.length) throw new Error('an entry was lost');
      const [fault] = faultsOf(told);
      if (fault) throw new Error(JSON.stringify(fault));
    }),
    { numRuns: 10_000 },
  );
});

test('what is long is looked at once', async () => {
  const long = 4_000_000;
  const attached = (attachment: object) => ({
    ...{ resourceType: 'DocumentReference', id: 'd', status: 'current', content: [{ attachment }] },
    context: { encounter: [{ reference: 'Encounter/1' }] },
  });
  const contentType = 'application/pdf';
  const blank = ' '.repeat(long);
  const resources: JsonObject[] = [
    attached({ contentType, data: `A${blank}!` }),
    attached({ contentType, data: `A=${blank}!` }),
    attached({ contentType, data: '='.repeat(long) }),
    attached({ url: `data:${'a'.repeat(long)}` }),
    attached({ url: `data:${';a'.repeat(long / 2)},` }),
    ...['/A'.repeat(long), 'Aa'.repeat(long), `A?identifier=${'%'.repeat(long)}`].map((text) =>
      fhirEncounter({ reference: `http://x${text}` }, { participant: [{ individual: { reference: text } }] }),
    ),
    fhirPatient({ name: [{ family: 'A'.repeat(long), given: [`${blank}x`] }], birthDate: '1'.repeat(long) }),
    fhirPatient({ address: [{ line: Array(long).fill('') }] }),
    fhirPatient({ name: Array(long).fill(1) }),
  ];
  const entries = resources.map((resource, index) => ({ at: `Bundle.entry[${index}].resource`, resource }));
  const told = await interpreted(entries);
  expect(told.operations).toEqual([]);
  expect(faultsOf(told)).toEqual([]);
  const issues = told.entries.map((one) => one.issues.length);
  expect(Math.max(...issues)).toBeLessThan(30);
}, 20_000);

test('what is many is looked at once', async () => {
  const many = 20_000;
  const practitioners = Array.from({ length: many }, () => fhirPractitioner());
  const duties = practitioners.map((one, index) => ({
    ...{ resourceType: 'PractitionerRole', id: `duty-${index}`, practitioner: referTo(one) },
    specialty: [{ coding: [{ system: 'http://nucc.org/provider-taxonomy', code: '207Q00000X' }] }],
  }));
  const { operations } = await interpreted(
    [...duties, ...practitioners].map((resource) => ({
      at: '',
      resource,
      fullUrl: `urn:uuid:${resource.id}`,
    })),
  );
  expect(operations).toHaveLength(many);
  expect(operations.filter((one) => one.type === 'record' && !one.fields.taxonomy_code)).toEqual([]);
}, 20_000);

describe('over HTTP', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });
  afterAll(() => service.stop());

  /** Fails unless it is an answer of FHIR to what the sender did. */
  function expectFhir({ status, headers, body }: TestResponse): void {
    if (status >= 500) expect({ status, body }).toEqual('an answer of FHIR');
    expect(headers['content-type']).toBe(`${FHIR_JSON}; charset=utf-8`);
    expect(['OperationOutcome', 'Bundle']).toContain(body.resourceType);
    if (body.resourceType === 'Bundle') expect(statusesIn(body).filter((one) => one >= 500)).toEqual([]);
    else expect(body.issue.length).toBeGreaterThan(0);
  }

  test('changed messages are answered, and nothing fails', async () => {
    const resources = validResources();
    const statuses = new Set<number>();
    const send = async (path: string, message: unknown) => {
      const answer = await sendFhir(service, path, message);
      expectFhir(answer);
      statuses.add(answer.status);
    };
    const alone = fc.tuple(fc.constantFrom(...resources), edits);
    const type = fc.constantFrom('batch' as const, 'transaction' as const);
    const together = fc.tuple(type, fc.shuffledSubarray(resources, { minLength: 2 }), edits, fc.boolean());
    const several = fc.tuple(fc.array(alone, { minLength: 8, maxLength: 8 }), together);
    await fc.assert(
      fc.asyncProperty(several, async ([singles, [kind, some, changes, isWhole]]) => {
        await Promise.all(singles.map(([one, own]) => send(`/fhir/${one.resourceType}`, edited(one, own))));
        const wrapped = bundle(kind, ...some);
        await send(
          '/fhir',
          isWhole ? edited(wrapped, changes) : { ...wrapped, entry: edited(wrapped.entry, changes) },
        );
      }),
      { numRuns: 150 },
    );
    expect([...statuses]).toEqual(expect.arrayContaining([200, 400]));
  });

  test('damaged text is answered, too', async () => {
    const whole = JSON.stringify(bundle('transaction', ...validResources()));
    const damages = fc.array(fc.tuple(fc.nat(whole.length), fc.nat(6), fc.string({ unit: 'binary' })), {
      ...{ minLength: 1, maxLength: 4 },
    });
    await fc.assert(
      fc.asyncProperty(damages, async (all) => {
        let body = whole;
        for (const [at, cut, added] of all) body = body.slice(0, at) + added + body.slice(at + cut);
        const headers = { 'content-type': FHIR_JSON };
        expectFhir(await service.send('/fhir', { method: 'POST', headers, body }));
      }),
      { numRuns: 300 },
    );
  });

  test('what is wrong a million times is told briefly', async () => {
    const ones = `[${'1,'.repeat(2_000_000)}1]`;
    const deep = 200_000;
    const bodies = [
      `{"resourceType":"Bundle","type":"batch","entry":${ones}}`,
      `{"resourceType":"Bundle","type":"batch","entry":[${'{},'.repeat(40_000)}{}]}`,
      `{"resourceType":"Bundle","type":"transaction","entry":[${'{},'.repeat(40_000)}{}]}`,
      `${'['.repeat(deep)}${']'.repeat(deep)}`,
      `{"resourceType":"Bundle","type":${'{"a":'.repeat(deep)}1${'}'.repeat(deep)}}`,
    ];
    const wrong = `{"resourceType":"Patient","id":"p","name":${ones}}`;
    const headers = { 'content-type': FHIR_JSON };
    for (const [path, body] of [
      ...bodies.map((one) => ['/fhir', one] as const),
      ['/fhir/Patient', wrong] as const,
    ]) {
      const answer = await service.send(path, { method: 'POST', headers, body });
      expectFhir(answer);
      expect(answer.text.length).toBeLessThan(20_000_000);
    }
  });
});
