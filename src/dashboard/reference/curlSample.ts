import type { MediaType, ParameterObject, PlacedOperation } from './document.ts';

/** The call of an operation with curl, with the document's own examples. */
export function curlSample({ path, method, operation }: PlacedOperation): string {
  const { parameters = [], requestBody } = operation;
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(exampleOf(parameters, name)));
  const parts = [`curl "$CHARTLEDGER_URL${filled}"`, '-H "x-api-key: $CHARTLEDGER_API_KEY"'];
  if (requestBody) parts.push(...bodyParts(requestBody.content));
  else if (method !== 'get') parts.push(`-X ${method.toUpperCase()}`);
  if (requestBody && method !== 'post') parts.push(`-X ${method.toUpperCase()}`);
  return parts.join(' \\\n  ');
}

function exampleOf(parameters: readonly ParameterObject[], name: string): string {
  const parameter = parameters.find((one) => one.in === 'path' && one.name === name);
  return String(parameter?.schema.examples?.[0] ?? name);
}

/** The first example of a media type. */
export function firstExample({ example, examples }: MediaType): unknown {
  return example ?? Object.values(examples ?? {})[0]?.value;
}

function bodyParts(content: Record<string, MediaType>): string[] {
  return Object.entries(content).flatMap(([type, media]) => {
    const example = firstExample(media);
    if (!type.startsWith('multipart/')) return [`--json ${quoted(JSON.stringify(example, null, 2))}`];
    return Object.entries(example as object).map(([name, value]) =>
      name === 'file' ? '-F file=@results.pdf' : `-F ${name}=${value}`,
    );
  });
}

/** One word of a shell's command line. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
