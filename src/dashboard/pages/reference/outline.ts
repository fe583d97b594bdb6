import { MESSAGES_TAG } from '../../../api/schemas/webhooks.ts';
import type { ContentsEntry } from '../../components/layout.ts';
import { type Html, html } from '../../components/page.ts';
import {
  errorPath,
  operationPath,
  referenceMessagePath,
  referencePath,
  schemaPath,
} from '../../components/urls.ts';

/** The parts of an OpenAPI 3.1 document that the reference shows (OpenAPI Specification 3.1.0, section 4.8). */
export interface OpenApiDocument {
  info: { title: string; version: string; description: string };
  tags: { name: string; description: string }[];
  components: {
    schemas: Record<string, Schema>;
    responses: Record<string, ResponseObject>;
  };
  paths: Record<string, PathItem>;
  webhooks: Record<string, PathItem>;
}

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const;
export type Method = (typeof methods)[number];
type PathItem = Partial<Record<Method, OperationObject>>;

export interface OperationObject {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  parameters?: ParameterObject[];
  requestBody?: { content: Content };
  responses: Record<string, ResponseObject | Reference>;
}

export interface ParameterObject {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  schema: Schema;
}

export interface ResponseObject {
  description: string;
  content?: Content;
}

export type Content = Record<string, MediaType>;

export interface MediaType {
  schema?: SchemaOrReference;
  example?: unknown;
  examples?: Record<string, { summary?: string; value: unknown }>;
}

export interface Reference {
  $ref: string;
}

export type SchemaOrReference = Schema | Reference;

export interface Schema {
  type?: string | string[];
  format?: string;
  description?: string;
  properties?: Record<string, SchemaOrReference>;
  required?: string[];
  items?: SchemaOrReference;
  anyOf?: SchemaOrReference[];
  oneOf?: SchemaOrReference[];
  additionalProperties?: SchemaOrReference;
  enum?: unknown[];
  default?: unknown;
  examples?: unknown[];
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
}

/** One operation, or one message of a webhook, with its place in the document. */
export interface PlacedOperation {
  /** For a message, its type. */
  path: string;
  method: Method;
  operation: OperationObject;
}

/** Returns the operations below these paths, in the document's order. */
export function operationsOf(paths: Record<string, PathItem>): PlacedOperation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method];
      return operation ? [{ path, method, operation }] : [];
    }),
  );
}

/** Returns the last part of a reference's target: the component's name. */
export function nameOf({ $ref }: Reference): string {
  return $ref.slice($ref.lastIndexOf('/') + 1);
}

export function isReference(value: object): value is Reference {
  return '$ref' in value;
}

/** Renders the parts of CommonMark that the document uses: paragraphs, `code` and **strong**. */
export function markdown(text: string): Html[] {
  return text.split(/\n{2,}/).map((paragraph) => html`<p>${inline(paragraph)}</p>`);
}

/** The same, for a single line. */
export function inline(text: string): Html[] {
  return text
    .split(/(`[^`]+`|\*\*[^*]+\*\*)/)
    .map((part) =>
      part.startsWith('`')
        ? html`<code>${part.slice(1, -1)}</code>`
        : part.startsWith('**')
          ? html`<strong>${part.slice(2, -2)}</strong>`
          : html`${part}`,
    );
}

/** One thing that the reference describes; its id is its `operationId`, or the likes of `schema-Patient` and `response-Gone`. */
export interface Entry extends ContentsEntry {
  /** For an operation: its method and path. */
  operation?: PlacedOperation;
  /** What it is found by besides its title: its name, path, fields. */
  names: string;
  description: string;
}

export interface Group extends ContentsEntry {
  description?: string;
  entries: Entry[];
}

/** Returns everything that the document describes, in the order of the reference. */
export function outlineOf({ tags, paths, webhooks, components }: OpenApiDocument): Group[] {
  const operations = [
    ...operationsOf(paths).map((placed) => operationEntry(placed, operationPath)),
    ...operationsOf(webhooks).map((placed) => operationEntry(placed, referenceMessagePath)),
  ];
  const groups: Omit<Group, 'path'>[] = [
    ...tags.map(({ name, description }) => ({
      id: name === MESSAGES_TAG ? 'messages' : `tag-${name}`,
      title: name,
      description,
      entries: operations.filter(({ operation }) => operation?.operation.tags.includes(name)),
    })),
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
  return groups.map((group) => ({ ...group, path: `${referencePath}#${group.id}` }));
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

/** An entry that was found, and the title of its group. */
export interface FoundEntry extends Entry {
  group: string;
}

/** The weight of a word by where it is found. */
const WORTH = { title: 9, names: 3, description: 1 } as const;
const places = Object.keys(WORTH) as (keyof typeof WORTH)[];

/** Returns the entries that contain every word of a text, ignoring case; those with matching titles first. */
export function searchOutline(outline: readonly Group[], text: string): FoundEntry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  return outline
    .flatMap(({ title, entries }) => entries.map((entry) => ({ ...entry, group: title })))
    .map((entry) => ({ entry, worth: words.map((word) => worthOf(entry, word)) }))
    .filter(({ worth }) => worth.every((one) => one > 0))
    .toSorted((a, b) => sum(b.worth) - sum(a.worth))
    .map(({ entry }) => entry);
}

function worthOf(entry: Entry, word: string): number {
  const holding = places.find((place) => entry[place].toLowerCase().includes(word));
  return holding === undefined ? 0 : WORTH[holding];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
