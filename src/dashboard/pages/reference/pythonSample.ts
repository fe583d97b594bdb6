import { type ClientMethod, clientMethod } from './clientMethod.ts';
import { codeText, python } from './codeText.ts';
import type { PlacedOperation } from './document.ts';
import { exampleRequest, filledPath } from './exampleRequest.ts';

/** Returns the call of an operation with the Python client, with the document's own examples. */
export function pythonSample(placed: PlacedOperation): string {
  const { operationId, responses } = placed.operation;
  if (operationId === 'uploadDocument') return uploadSample(placed);
  if (operationId === 'downloadDocument') return downloadSample(placed);
  const method = clientMethod(placed);
  if (method) return sample([], methodCall(method));
  const answered = Object.keys((responses['200'] as { content?: object })?.content ?? {});
  // The client's `request` is for responses with one JSON text.
  if (answered[0] === 'application/x-ndjson') return linesSample(placed);
  return sample([], requestCall(placed));
}

function text(value: unknown, margin?: string): string {
  return codeText(python, value, margin);
}

function sample(imports: readonly string[], call: string): string {
  return `${['import os', ...imports].join('\n')}

from chartledger_client import Chartledger

chartledger = Chartledger(
    url=os.environ["CHARTLEDGER_URL"], api_key=os.environ["CHARTLEDGER_API_KEY"]
)
${call}
`;
}

function keywords(options: Record<string, unknown>): string[] {
  return Object.entries(options).map(([name, value]) => `${name}=${text(value)}`);
}

function methodCall({ name, arguments: values, options = {}, each }: ClientMethod): string {
  const given = [...values.map((value) => text(value)), ...keywords(options)];
  const call = `chartledger.${name}(${given.join(', ')})`;
  return each === undefined ? `print(${call})` : `for ${each} in ${call}:\n    print(${each})`;
}

/** With `request`, for operations without a method of their own. */
function requestCall(placed: PlacedOperation): string {
  const { path, query, body } = exampleRequest(placed);
  const given = [
    text(placed.method.toUpperCase()),
    text(filledPath(placed.path, path)),
    ...(Object.keys(query).length > 0 ? [`params=${text(query)}`] : []),
    ...(body === undefined ? [] : [`json=${text(body)}`]),
  ];
  return `print(chartledger.request(${given.join(', ')}))`;
}

function uploadSample(placed: PlacedOperation): string {
  const { path, body } = exampleRequest(placed);
  const { file, ...fields } = body as Record<string, unknown>;
  const given = [text(path.id), 'Path("results.pdf")', ...keywords(fields)];
  return sample(
    ['from pathlib import Path'],
    `written = chartledger.documents.upload(\n${given.map((one) => `    ${one},\n`).join('')})\nprint(written)`,
  );
}

function downloadSample(placed: PlacedOperation): string {
  const { id, documentId } = exampleRequest(placed).path;
  return sample(
    [],
    `with open("results.pdf", "wb") as file:
    for piece in chartledger.documents.download(${text(id)}, ${text(documentId)}):
        file.write(piece)`,
  );
}

/** For JSON Lines responses, with the library on which the client is built. */
function linesSample(placed: PlacedOperation): string {
  const { path, query } = exampleRequest(placed);
  return `import os

import httpx

with httpx.stream(
    "GET",
    os.environ["CHARTLEDGER_URL"] + ${text(filledPath(placed.path, path))},
    params=${text(query, '    ')},
    headers={"x-api-key": os.environ["CHARTLEDGER_API_KEY"]},
) as response:
    response.raise_for_status()
    for line in response.iter_lines():
        print(line)
`;
}
