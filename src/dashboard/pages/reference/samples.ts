import { catalog } from '../../../domain/records/catalog.ts';
import { type Html, html } from '../../components/page.ts';
import type { MediaType, PlacedOperation } from './outline.ts';

/** A request to an operation, filled in with the document's own examples. */
interface ExampleRequest {
  /** Path parameters by name. */
  path: Record<string, string | number>;
  /** The query parameters without which it is refused. */
  query: Record<string, unknown>;
  /** The media type of the body; undefined: it has none. */
  type: string | undefined;
  body: unknown;
}

/** Returns what an operation's samples send; of its bodies the first one, which is JSON where there is a choice. */
export function exampleRequest({ operation }: PlacedOperation): ExampleRequest {
  const { parameters = [], requestBody } = operation;
  const examples = (place: 'path' | 'query') =>
    Object.fromEntries(
      parameters
        .filter((one) => one.in === place && one.required)
        .map(({ name, schema }) => [name, schema.examples?.[0] ?? name]),
    );
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  return {
    path: examples('path') as ExampleRequest['path'],
    query: examples('query'),
    type,
    body: media && firstExample(media),
  };
}

/** Returns the first example of a media type. */
function firstExample({ example, examples }: MediaType): unknown {
  return example ?? Object.values(examples ?? {})[0]?.value;
}

/** Returns the path of an operation with these values in it. */
export function filledPath(template: string, path: ExampleRequest['path']): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? name));
}

/** A method that both clients have, by the name that it has in both. */
interface ClientMethod {
  /** Below the client: `patients.upsert`. */
  name: string;
  arguments: unknown[];
  /** By name: an additional object in TypeScript, keywords in Python. */
  options?: Record<string, unknown>;
  /** What it returns: one value, or a sequence of many, each of which is one of these. */
  each?: string;
}

const records = '/integration/{kind}';
const documents = '/integration/encounters/{id}/documents';

/** Returns the clients' method for an operation; undefined where it requires their `request`. */
function clientMethod(placed: PlacedOperation): ClientMethod | undefined {
  const { path: sent, body } = exampleRequest(placed);
  const { id, documentId } = sent;
  const entry = catalog.find(({ plural }) => new RegExp(`^/integration/${plural}(?:$|/)`).test(placed.path));
  const own = methodOf(`${placed.method} ${placed.path}`);
  if (own !== undefined || entry === undefined) return own;
  const template = placed.path.replace(`/${entry.plural}`, '/{kind}');
  const ofKind = methodOf(`${placed.method} ${template}`);
  return ofKind && { ...ofKind, name: `${entry.plural}.${ofKind.name}` };

  function methodOf(operation: string): ClientMethod | undefined {
    const { q, ...narrowed } = (body ?? {}) as { q?: string };
    switch (operation) {
      case `post ${records}`:
        return { name: 'upsert', arguments: [body] };
      case `get ${records}`:
        return { name: 'list', arguments: [], each: entry?.kind ?? 'record' };
      case `patch ${records}/{id}`:
        return { name: 'patch', arguments: [id, body] };
      case `get ${records}/{id}`:
        return { name: 'read', arguments: [id] };
      case `get ${records}/{id}/history`:
        return { name: 'history', arguments: [id], each: 'version' };
      case 'get /integration/encounters/{id}/readiness':
        return { name: 'encounters.readiness', arguments: [id] };
      case 'get /integration/readiness':
        return { name: 'encounters.worklist', arguments: [], each: 'encounter' };
      case `get ${documents}`:
        return { name: 'documents.list', arguments: [id], each: 'document' };
      case `delete ${documents}/{documentId}`:
        return { name: 'documents.remove', arguments: [id, documentId] };
      case `get ${documents}/{documentId}/history`:
        return { name: 'documents.history', arguments: [id, documentId], each: 'version' };
      case 'post /integration/search':
        return { name: 'search', arguments: [q], options: narrowed, each: 'found' };
      case 'post /integration/batch':
        return { name: 'batch', arguments: [body], each: 'result' };
      case 'get /events':
        return { name: 'events', arguments: [], each: 'event' };
      default:
        return undefined;
    }
  }
}

/** How a language writes values. */
interface Dialect {
  text(value: string): string;
  key(name: string): string;
  words: Record<'true' | 'false' | 'null', string>;
  /** One step of indentation. */
  indent: string;
}

const typescript: Dialect = {
  text: (value) => (/['\\\n]/.test(value) ? JSON.stringify(value) : `'${value}'`),
  key: (name) => (/^\w+$/.test(name) ? name : `'${name}'`),
  words: { true: 'true', false: 'false', null: 'null' },
  indent: '  ',
};

const python: Dialect = {
  text: (value) => JSON.stringify(value),
  key: (name) => JSON.stringify(name),
  words: { true: 'True', false: 'False', null: 'None' },
  indent: '    ',
};

/** Returns a JSON value as a literal of the language; lines after the first begin with `margin`. */
function codeText(dialect: Dialect, value: unknown, margin = ''): string {
  if (typeof value === 'string') return dialect.text(value);
  if (typeof value === 'number') return String(value);
  if (value === null || typeof value !== 'object') {
    return dialect.words[String(value) as keyof Dialect['words']];
  }
  const inner = `${margin}${dialect.indent}`;
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const items = Object.entries(value).map(([name, item]) => {
    const text = codeText(dialect, item, inner);
    return Array.isArray(value) ? text : `${dialect.key(name)}: ${text}`;
  });
  if (items.length === 0) return `${open}${close}`;
  return `${open}\n${items.map((item) => `${inner}${item},\n`).join('')}${margin}${close}`;
}

/** Returns the call of an operation with curl, with the document's own examples. */
function curlSample(placed: PlacedOperation): string {
  const { path, method, operation } = placed;
  const request = exampleRequest(placed);
  const query = new URLSearchParams(request.query as Record<string, string>).toString();
  const parts = [
    `curl "$CHARTLEDGER_URL${filledPath(path, request.path)}${query && `?${query}`}"`,
    '-H "x-api-key: $CHARTLEDGER_API_KEY"',
    ...bodyParts(request),
  ];
  const isImplied = request.type === undefined ? method === 'get' : method === 'post';
  if (!isImplied) parts.push(`-X ${method.toUpperCase()}`);
  const answered = Object.keys((operation.responses['200'] as { content?: object })?.content ?? {});
  if (answered.includes('application/pdf')) parts.push('-o results.pdf');
  return parts.join(' \\\n  ');
}

function bodyParts({ type, body }: ExampleRequest): string[] {
  if (type === undefined) return [];
  if (type.startsWith('multipart/')) {
    return Object.entries(body as object).map(([name, value]) =>
      name === 'file' ? '-F file=@results.pdf' : `-F ${name}=${value}`,
    );
  }
  const json = `--json ${quoted(JSON.stringify(body, null, 2))}`;
  return type === 'application/json' ? [json] : [`-H "content-type: ${type}"`, json];
}

/** Returns one word of a shell's command line. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns the call of an operation with the Python client, with the document's own examples. */
export function pythonSample(placed: PlacedOperation): string {
  const { operationId, responses } = placed.operation;
  if (operationId === 'uploadDocument') return pythonUploadSample(placed);
  if (operationId === 'downloadDocument') return pythonDownloadSample(placed);
  const method = clientMethod(placed);
  if (method) return pythonProgram([], pythonMethodCall(method));
  const answered = Object.keys((responses['200'] as { content?: object })?.content ?? {});
  // The client's `request` is for responses with one JSON text.
  if (answered[0] === 'application/x-ndjson') return pythonLinesSample(placed);
  return pythonProgram([], pythonRequestCall(placed));
}

function pythonText(value: unknown, margin?: string): string {
  return codeText(python, value, margin);
}

function pythonProgram(imports: readonly string[], call: string): string {
  return `${['import os', ...imports].join('\n')}

from chartledger_client import Chartledger

chartledger = Chartledger(
    url=os.environ["CHARTLEDGER_URL"], api_key=os.environ["CHARTLEDGER_API_KEY"]
)
${call}
`;
}

function pythonKeywords(options: Record<string, unknown>): string[] {
  return Object.entries(options).map(([name, value]) => `${name}=${pythonText(value)}`);
}

function pythonMethodCall({ name, arguments: values, options = {}, each }: ClientMethod): string {
  const given = [...values.map((value) => pythonText(value)), ...pythonKeywords(options)];
  const call = `chartledger.${name}(${given.join(', ')})`;
  return each === undefined ? `print(${call})` : `for ${each} in ${call}:\n    print(${each})`;
}

/** With `request`, for operations without a method of their own. */
function pythonRequestCall(placed: PlacedOperation): string {
  const { path, query, body } = exampleRequest(placed);
  const given = [
    pythonText(placed.method.toUpperCase()),
    pythonText(filledPath(placed.path, path)),
    ...(Object.keys(query).length > 0 ? [`params=${pythonText(query)}`] : []),
    ...(body === undefined ? [] : [`json=${pythonText(body)}`]),
  ];
  return `print(chartledger.request(${given.join(', ')}))`;
}

function pythonUploadSample(placed: PlacedOperation): string {
  const { path, body } = exampleRequest(placed);
  const { file, ...fields } = body as Record<string, unknown>;
  const given = [pythonText(path.id), 'Path("results.pdf")', ...pythonKeywords(fields)];
  return pythonProgram(
    ['from pathlib import Path'],
    `written = chartledger.documents.upload(\n${given.map((one) => `    ${one},\n`).join('')})\nprint(written)`,
  );
}

function pythonDownloadSample(placed: PlacedOperation): string {
  const { id, documentId } = exampleRequest(placed).path;
  return pythonProgram(
    [],
    `with open("results.pdf", "wb") as file:
    for piece in chartledger.documents.download(${pythonText(id)}, ${pythonText(documentId)}):
        file.write(piece)`,
  );
}

/** For JSON Lines responses, with the library on which the client is built. */
function pythonLinesSample(placed: PlacedOperation): string {
  const { path, query } = exampleRequest(placed);
  return `import os

import httpx

with httpx.stream(
    "GET",
    os.environ["CHARTLEDGER_URL"] + ${pythonText(filledPath(placed.path, path))},
    params=${pythonText(query, '    ')},
    headers={"x-api-key": os.environ["CHARTLEDGER_API_KEY"]},
) as response:
    response.raise_for_status()
    for line in response.iter_lines():
        print(line)
`;
}

const typescriptOpening = `import { env } from 'node:process';
import { Chartledger } from 'chartledger-client';

const { CHARTLEDGER_URL: url = '', CHARTLEDGER_API_KEY: apiKey = '' } = env;
const chartledger = new Chartledger({ url, apiKey });`;

/** Returns the call of an operation with the TypeScript client, with the document's own examples. */
export function typescriptSample(placed: PlacedOperation): string {
  const { operationId } = placed.operation;
  if (operationId === 'uploadDocument') return typescriptUploadSample(placed);
  if (operationId === 'downloadDocument') return typescriptDownloadSample(placed);
  const method = clientMethod(placed);
  return `${typescriptOpening}\n\n${method ? typescriptMethodCall(method) : typescriptRequestCall(placed)}\n`;
}

function typescriptText(value: unknown, margin?: string): string {
  return codeText(typescript, value, margin);
}

function typescriptMethodCall({ name, arguments: values, options = {}, each }: ClientMethod): string {
  const given = [...values, ...(Object.keys(options).length > 0 ? [options] : [])];
  const call = `chartledger.${name}(${given.map((value) => typescriptText(value)).join(', ')})`;
  if (each === undefined) return `console.log(await ${call});`;
  return `for await (const ${each} of ${call}) {\n  console.log(${each});\n}`;
}

/** With `request`, for operations without a method of their own. */
function typescriptRequestCall(placed: PlacedOperation): string {
  const { path, query, body } = exampleRequest(placed);
  const params = {
    ...(Object.keys(path).length > 0 && { path }),
    ...(Object.keys(query).length > 0 && { query }),
  };
  const init = { ...(Object.keys(params).length > 0 && { params }), ...(body !== undefined && { body }) };
  const answered = Object.keys((placed.operation.responses['200'] as { content?: object })?.content ?? {});
  const parsed = answered[0] === 'application/x-ndjson' ? { ...init, parseAs: 'text' } : init;
  const given = Object.keys(parsed).length > 0 ? `, ${typescriptText(parsed, '  ')}` : '';
  return `const answer = await chartledger.request((api) =>
  api.${placed.method.toUpperCase()}('${placed.path}'${given}),
);
console.log(answer);`;
}

function typescriptUploadSample(placed: PlacedOperation): string {
  const { path, body } = exampleRequest(placed);
  const { file, ...fields } = body as Record<string, unknown>;
  const lines = Object.entries(fields).map(([name, value]) => `  ${name}: ${typescriptText(value)},\n`);
  return `import { openAsBlob } from 'node:fs';
${typescriptOpening}

const written = await chartledger.documents.upload(${typescriptText(path.id)}, {
  file: await openAsBlob('results.pdf'),
  filename: 'results.pdf',
${lines.join('')}});
console.log(written);
`;
}

function typescriptDownloadSample(placed: PlacedOperation): string {
  const { id, documentId } = exampleRequest(placed).path;
  return `import { writeFile } from 'node:fs/promises';
${typescriptOpening}

await writeFile('results.pdf', await chartledger.documents.download(${typescriptText(id)}, ${typescriptText(documentId)}));
`;
}

const languages = [
  { id: 'curl', name: 'curl', write: curlSample },
  { id: 'typescript', name: 'TypeScript', write: typescriptSample },
  { id: 'python', name: 'Python', write: pythonSample },
];

/** Returns how an operation is called, in each language; one is open at a time, by the browser's own means. */
export function samplesPart(placed: PlacedOperation): Html {
  return html`${languages.map(
    ({ id, name, write }, at) => html`<details name="samples" class="sample"${at === 0 && html` open`}>
<summary>${name}</summary>
<button type="button" class="outline secondary" data-copy="sample-${id}" aria-label="Copy the ${name} sample">Copy</button>
<pre id="sample-${id}" tabindex="0"><code>${write(placed)}</code></pre>
</details>`,
  )}`;
}
