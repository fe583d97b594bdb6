import type { PlacedOperation } from './document.ts';
import { type ExampleRequest, exampleRequest, filledPath } from './exampleRequest.ts';

/** Returns the call of an operation with curl, with the document's own examples. */
export function curlSample(placed: PlacedOperation): string {
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
