import { openapiDocument } from '../../src/api/routes/index.ts';
import { openapiTypes } from '../../test/clientGenerators/openapiTypes.ts';

interface Body {
  headers?: object;
  content?: Record<string, { schema: object }>;
}

interface Operation {
  requestBody?: Body;
  responses: Record<string, Body>;
}

type Operations = Record<string, Record<string, Operation>>;

interface Document {
  paths: Operations;
  webhooks: Operations;
  components: { schemas: object };
}

function mapValues<From, To>(values: Record<string, From>, map: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));
}

/** Types could not distinguish which errors an operation has: they all have the same body. */
const anyError = {
  description: 'An error',
  content: { 'application/json': { schema: { $ref: '#/components/schemas/ErrorBody' } } },
};

/** Returns a body or response without its headers and examples. */
function bare({ headers: _, content, ...rest }: Body): Body {
  return { ...rest, ...(content && { content: mapValues(content, ({ schema }) => ({ schema })) }) };
}

function lessened(operation: Operation): Operation {
  const { requestBody, responses } = operation;
  const succeeding = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  return {
    ...operation,
    ...(requestBody && { requestBody: bare(requestBody) }),
    responses: { ...mapValues(Object.fromEntries(succeeding), bare), default: anyError },
  };
}

/**
 * Resolves with the types of the TypeScript client, for what its users see: each operation's errors, headers and
 * examples would be the largest part of them.
 */
export function clientTypes(): Promise<string> {
  const { paths, webhooks, components, ...document } = openapiDocument(false) as Document;
  return openapiTypes({
    ...document,
    paths: mapValues(paths, (methods) => mapValues(methods, lessened)),
    webhooks: mapValues(webhooks, (methods) =>
      mapValues(methods, ({ requestBody, ...message }) => ({ ...message, requestBody, responses: {} })),
    ),
    components: { schemas: components.schemas },
  });
}
