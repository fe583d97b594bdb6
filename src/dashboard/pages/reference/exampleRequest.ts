import type { MediaType, PlacedOperation } from './document.ts';

/** A request to an operation, filled in with the document's own examples. */
export interface ExampleRequest {
  /** Path parameters by name. */
  path: Record<string, string | number>;
  /** The query parameters without which it is refused. */
  query: Record<string, unknown>;
  /** The media type of the body; undefined: it has none. */
  type: string | undefined;
  body: unknown;
}

/** Returns what an operation's samples send; of its bodies the last one, which is JSON where there is a choice. */
export function exampleRequest({ operation }: PlacedOperation): ExampleRequest {
  const { parameters = [], requestBody } = operation;
  const examples = (place: 'path' | 'query') =>
    Object.fromEntries(
      parameters
        .filter((one) => one.in === place && one.required)
        .map(({ name, schema }) => [name, schema.examples?.[0] ?? name]),
    );
  const [type, media] = Object.entries(requestBody?.content ?? {}).at(-1) ?? [];
  return {
    path: examples('path') as ExampleRequest['path'],
    query: examples('query'),
    type,
    body: media && firstExample(media),
  };
}

/** Returns the first example of a media type. */
export function firstExample({ example, examples }: MediaType): unknown {
  return example ?? Object.values(examples ?? {})[0]?.value;
}

/** Returns the path of an operation with these values in it. */
export function filledPath(template: string, path: ExampleRequest['path']): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? name));
}
