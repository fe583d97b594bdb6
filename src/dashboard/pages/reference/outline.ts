import { errorPath, messagePath, operationPath, schemaPath } from '../../components/referencePaths.ts';
import {
  isReference,
  type OpenApiDocument,
  operationsOf,
  type PlacedOperation,
  type SchemaOrReference,
} from './document.ts';

/** One thing that the reference describes. */
export interface Entry {
  /** Unique among all entries: the `operationId`, `schema-Patient`, `response-Gone`. */
  id: string;
  title: string;
  /** Where it is. */
  path: string;
  /** For an operation: its method and path. */
  operation?: PlacedOperation;
  /** What it is found by besides its title: its name, path, fields. */
  names: string;
  description: string;
}

export interface Group {
  id: string;
  title: string;
  description?: string;
  entries: Entry[];
}

/** Returns everything that the document describes, in the order of the reference. */
export function outlineOf({ tags, paths, webhooks, components }: OpenApiDocument): Group[] {
  const operations = operationsOf(paths);
  return [
    ...tags.map(({ name, description }) => ({
      id: `tag-${name}`,
      title: name,
      description,
      entries: operations
        .filter(({ operation }) => operation.tags.includes(name))
        .map((placed) => operationEntry(placed, operationPath)),
    })),
    {
      id: 'messages',
      title: 'Webhook messages',
      description: 'Messages that are sent to a webhook’s URL by POST.',
      entries: operationsOf(webhooks).map((placed) => operationEntry(placed, messagePath)),
    },
    {
      id: 'errors',
      title: 'Errors',
      description: 'Responses of operations that fail.',
      entries: Object.entries(components.responses).map(([name, { description }]) => ({
        id: `response-${name}`,
        title: name,
        path: errorPath(name),
        names: name,
        description,
      })),
    },
    {
      id: 'schemas',
      title: 'Schemas',
      description: 'The parts of request and response bodies.',
      entries: Object.entries(components.schemas).map(([name, schema]) => ({
        id: `schema-${name}`,
        title: name,
        path: schemaPath(name),
        names: [name, ...fieldsIn(schema)].join(' '),
        description: schema.description ?? '',
      })),
    },
  ];
}

function operationEntry(operation: PlacedOperation, pathOf: (id: string) => string): Entry {
  const { operationId: id, summary, description, parameters = [] } = operation.operation;
  return {
    id,
    title: summary,
    path: pathOf(id),
    operation,
    names: [id, operation.method, operation.path, ...parameters.map(({ name }) => name)].join(' '),
    description,
  };
}

/** Returns the names of a schema's fields, including nested ones. */
function fieldsIn(schema: SchemaOrReference): string[] {
  if (isReference(schema)) return [];
  // `additionalProperties` may be `false`.
  const inner = [schema.items, schema.additionalProperties].filter((one) => typeof one === 'object');
  return [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) => [name, ...fieldsIn(field)]),
    ...inner.flatMap(fieldsIn),
  ];
}
