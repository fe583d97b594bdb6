import { expect, test } from 'vitest';
import { openapiDocument } from '../../src/api/routes/index.ts';
import type { OpenApiDocument } from '../../src/dashboard/pages/reference/outline.ts';
import { faultText, requestCurl } from '../../src/dashboard/pages/requestSample.ts';

const document = openapiDocument(false) as OpenApiDocument;
const address = 'https://chartledger.example.com';
const KEY = "-H 'x-api-key: <API_KEY>'";
const JSON_TYPE = "-H 'content-type: application/json'";

test.each([
  ['required', 'last_name', 'is required'],
  ['not_a_choice', 'gender', 'must be one of male, female, other'],
  ['not_a_choice', 'primary_insurance.subscriber_relationship', 'must be one of self, spouse, child, other'],
  ['wrong_type', 'last_name', 'must be a string'],
  ['empty', 'last_name', 'must not be empty'],
  ['wrong_length', 'ssn_last4', 'must be exactly 4 digits'],
  ['wrong_length', 'id', 'must be at most 255 characters'],
  ['no_date', 'date_of_birth', 'must be an ISO 8601 date, such as 1984-02-29'],
  ['reference_not_found', 'primary_insurance.payer_id', 'refers to a payer P-1 that does not exist'],
  ['unknown', 'unknown_field', 'is not a field of the interface'],
  ['invalid', 'unknown_field', 'is not valid'],
] as const)('a fault %s of %s', (code, field, text) => {
  const request = { method: 'POST', route: '/integration/patients', fields: [field] };
  const missing = code === 'reference_not_found' ? { kind: 'payer', id: 'P-1' } : { kind: null, id: null };
  expect(faultText({ field, code, ...missing }, request, document, missing.id ?? undefined)).toBe(text);
});

test('a parameter that is out of range', () => {
  const request = { method: 'GET', route: '/integration/patients', fields: ['limit'] };
  const fault = { field: 'limit', code: 'out_of_range', kind: null, id: null } as const;
  expect(faultText(fault, request, document)).toBe('must be from 1 to 1000');
});

test.each([
  ['GET', '/integration/patients/:id', [], [`curl -X GET '${address}/integration/patients/<id>'`, KEY]],
  ['HEAD', '/integration/patients/:id', [], [`curl --head '${address}/integration/patients/<id>'`, KEY]],
  [
    'GET',
    '/integration/patients',
    ['limit', 'unknown_field'],
    [`curl -X GET '${address}/integration/patients?limit=<limit>'`, KEY],
  ],
  [
    'POST',
    '/integration/payers',
    ['Idempotency-Key', 'wait', 'name'],
    [
      `curl -X POST '${address}/integration/payers?wait=<wait>'`,
      ...[KEY, "-H 'Idempotency-Key: <Idempotency-Key>'", JSON_TYPE],
      `-d '${JSON.stringify({ id: '<id>', name: '<name>' }, null, 2)}'`,
    ],
  ],
  [
    'PATCH',
    '/integration/payers/:id',
    [],
    [
      `curl -X PATCH '${address}/integration/payers/<id>'`,
      ...[KEY, "-H 'content-type: application/merge-patch+json'", "-d '<body>'"],
    ],
  ],
  [
    'POST',
    '/integration/batch',
    ['kind', 'primary_insurance.payer_id', 'primary_insurance.policy_number'],
    [
      `curl -X POST '${address}/integration/batch'`,
      ...[KEY, "-H 'content-type: application/x-ndjson'"],
      `--data-binary '${JSON.stringify({
        kind: '<kind>',
        record: {
          id: '<id>',
          primary_insurance: { payer_id: '<payer_id>', policy_number: '<policy_number>' },
        },
      })}'`,
    ],
  ],
  [
    'POST',
    '/integration/patients',
    ['gender', 'secondary_insurance.policy_number'],
    [
      `curl -X POST '${address}/integration/patients'`,
      ...[KEY, JSON_TYPE],
      `-d '${JSON.stringify(
        {
          ...{ id: '<id>', first_name: '<first_name>', last_name: '<last_name>' },
          ...{ date_of_birth: '<date_of_birth>', gender: '<one of male, female, other>' },
          secondary_insurance: { payer_id: '<payer_id>', policy_number: '<policy_number>' },
        },
        null,
        2,
      )}'`,
    ],
  ],
  [
    'POST',
    '/integration/encounters/:id/documents',
    ['category'],
    [
      `curl -X POST '${address}/integration/encounters/<id>/documents'`,
      ...[KEY, "-F 'file=@<file>'", "-F 'document_id=<document_id>'", "-F 'category=<category>'"],
    ],
  ],
])('%s %s with the fields %j', (method, route, fields, parts) => {
  expect(requestCurl({ method, route, fields }, document, address)).toBe(parts.join(' \\\n  '));
});
