import { type ClientMethod, clientMethod } from './clientMethod.ts';
import { codeText, typescript } from './codeText.ts';
import type { PlacedOperation } from './document.ts';
import { exampleRequest } from './exampleRequest.ts';

const opening = `import { env } from 'node:process';
import { Chartledger } from 'chartledger-client';

const { CHARTLEDGER_URL: url = '', CHARTLEDGER_API_KEY: apiKey = '' } = env;
const chartledger = new Chartledger({ url, apiKey });`;

/** Returns the call of an operation with the TypeScript client, with the document's own examples. */
export function typescriptSample(placed: PlacedOperation): string {
  const { operationId } = placed.operation;
  if (operationId === 'uploadDocument') return uploadSample(placed);
  if (operationId === 'downloadDocument') return downloadSample(placed);
  const method = clientMethod(placed);
  return `${opening}\n\n${method ? methodCall(method) : requestCall(placed)}\n`;
}

function text(value: unknown, margin?: string): string {
  return codeText(typescript, value, margin);
}

function methodCall({ name, arguments: values, options = {}, each }: ClientMethod): string {
  const given = [...values, ...(Object.keys(options).length > 0 ? [options] : [])];
  const call = `chartledger.${name}(${given.map((value) => text(value)).join(', ')})`;
  if (each === undefined) return `console.log(await ${call});`;
  return `for await (const ${each} of ${call}) {\n  console.log(${each});\n}`;
}

/** With `request`, for operations without a method of their own. */
function requestCall(placed: PlacedOperation): string {
  const { path, query, body } = exampleRequest(placed);
  const params = {
    ...(Object.keys(path).length > 0 && { path }),
    ...(Object.keys(query).length > 0 && { query }),
  };
  const init = { ...(Object.keys(params).length > 0 && { params }), ...(body !== undefined && { body }) };
  const answered = Object.keys((placed.operation.responses['200'] as { content?: object })?.content ?? {});
  const parsed = answered[0] === 'application/x-ndjson' ? { ...init, parseAs: 'text' } : init;
  const given = Object.keys(parsed).length > 0 ? `, ${text(parsed, '  ')}` : '';
  return `const answer = await chartledger.request((api) =>
  api.${placed.method.toUpperCase()}('${placed.path}'${given}),
);
console.log(answer);`;
}

function uploadSample(placed: PlacedOperation): string {
  const { path, body } = exampleRequest(placed);
  const { file, ...fields } = body as Record<string, unknown>;
  const lines = Object.entries(fields).map(([name, value]) => `  ${name}: ${text(value)},\n`);
  return `import { openAsBlob } from 'node:fs';
${opening}

const written = await chartledger.documents.upload(${text(path.id)}, {
  file: await openAsBlob('results.pdf'),
  filename: 'results.pdf',
${lines.join('')}});
console.log(written);
`;
}

function downloadSample(placed: PlacedOperation): string {
  const { id, documentId } = exampleRequest(placed).path;
  return `import { writeFile } from 'node:fs/promises';
${opening}

await writeFile('results.pdf', await chartledger.documents.download(${text(id)}, ${text(documentId)}));
`;
}
