import { expect, test } from 'vitest';
import { openapiDocument } from '../../src/api/routes/index.ts';
import type { OpenApiDocument } from '../../src/dashboard/pages/reference/outline.ts';
import { requestCurl } from '../../src/dashboard/pages/requests.ts';

const document = openapiDocument(false) as OpenApiDocument;
const address = 'https://chartledger.example.com';
const KEY = "-H 'x-api-key: <API_KEY>'";
const JSON_TYPE = "-H 'content-type: application/json'";

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
