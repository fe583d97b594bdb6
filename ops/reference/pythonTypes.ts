import { openapiDocument } from '../../src/api/routes/index.ts';

interface JsonSchema {
  $ref?: string;
  title?: string;
  type?: string | string[];
  description?: string;
  enum?: (string | number | boolean | null)[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema: JsonSchema;
}

interface Message {
  post: { requestBody: { content: { 'application/cloudevents+json': { schema: JsonSchema } } } };
}

interface Document {
  paths: Record<string, Record<string, { parameters?: Parameter[] }>>;
  webhooks: Record<string, Message>;
  components: { schemas: Record<string, JsonSchema> };
}

const LINE_WIDTH = 110;
/** The approximate width of what precedes a type. */
const INDENT = 40;

/** Words that cannot be names of a class's fields. */
const keywords =
  'and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield'.split(
    ' ',
  );

/** What describes the service itself, and the form with a file, which the client builds. */
const leftOut = ['AsyncApi', 'DocumentUpload', 'Health', 'JsonSchema', 'OpenApi', 'Readiness'];

const scalars: Record<string, string> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
};

const pascal = (name: string) => name.replace(/(?:^|[_.])(\w)/g, (_, letter) => letter.toUpperCase());

/** Returns values one after the other, filling each line. */
function filled(values: string[]): string {
  const lines: string[] = [];
  for (const value of values) {
    const last = lines.at(-1);
    if (last === undefined || last.length + value.length + 2 > LINE_WIDTH) lines.push(`        ${value},`);
    else lines[lines.length - 1] = `${last} ${value},`;
  }
  return lines.join('\n');
}

function literal(values: (string | number | boolean)[]): string {
  const written = values.map((value) =>
    typeof value === 'boolean' ? pascal(String(value)) : JSON.stringify(value),
  );
  const line = `Literal[${written.join(', ')}]`;
  return line.length < LINE_WIDTH - INDENT ? line : `Literal[\n${filled(written)}\n    ]`;
}

/** Python's types for JSON Schemas: classes for objects, one after the other, each named. */
class PythonModule {
  readonly #parts: string[] = [];
  readonly #classes = new Set<string>();
  /** The names of lists of values, by the values. */
  readonly #named = new Map<string, string>();

  /** Defines a name. */
  alias(name: string, type: string): void {
    this.#parts.push(`${name} = ${type.replaceAll('\n    ', '\n')}`);
  }

  /** Defines the union of classes that may be defined further down. */
  union(name: string, members: string[]): void {
    this.alias(name, `Union[\n${filled(members.map((member) => JSON.stringify(member)))}\n    ]`);
  }

  /** Defines a name for a list of values, used wherever the list occurs. */
  values(name: string, { enum: values = [] }: JsonSchema = {}): void {
    const known = values.filter((value) => value !== null);
    this.alias(name, literal(known));
    this.#named.set(JSON.stringify(known), name);
  }

  /** Defines the class of an object, or the union of classes. Throws when there already is one with that name. */
  define(name: string, schema: JsonSchema): void {
    if (schema.oneOf) {
      this.union(
        name,
        schema.oneOf.map((part) => this.#type(part, name)),
      );
      return;
    }
    if (this.#classes.has(name)) throw new Error(`two types are named ${name}`);
    this.#classes.add(name);
    const properties = Object.entries(schema.properties ?? {});
    const fields = properties.map(([field, part]) => {
      const type = this.#type(part, name + pascal(field));
      return { field, type: schema.required?.includes(field) ? type : `NotRequired[${type}]`, part };
    });
    if (fields.some(({ field }) => keywords.includes(field))) {
      const items = fields.map(({ field, type }) => `"${field}": ${JSON.stringify(type)}`);
      this.alias(name, `TypedDict("${name}", {${items.join(', ')}})`);
      return;
    }
    const lines = [
      ...(schema.description ? [`    """${schema.description}"""`, ''] : []),
      ...fields.flatMap(({ field, type, part }) => [
        ...(part.description ? [`    # ${part.description}`] : []),
        `    ${field}: ${type}`,
      ]),
    ];
    this.#parts.push([`class ${name}(TypedDict):`, ...(fields.length > 0 ? lines : ['    pass'])].join('\n'));
  }

  #type(schema: JsonSchema, name: string): string {
    if (schema.$ref !== undefined) return schema.$ref.replace('#/components/schemas/', '');
    const alternatives = schema.anyOf ?? schema.oneOf;
    if (alternatives) {
      return alternatives
        .map((part, index) => this.#type(part, index === 0 ? name : name + (index + 1)))
        .join(' | ');
    }
    const types = [schema.type ?? []].flat();
    if (types.length === 0 && schema.enum === undefined) return 'Any';
    const none = types.includes('null') ? ' | None' : '';
    if (schema.enum) {
      const values = schema.enum.filter((value) => value !== null);
      if (values.join() === 'true,false') return `bool${none}`;
      return (this.#named.get(JSON.stringify(values)) ?? literal(values)) + none;
    }
    return types.map((type) => this.#plain(type, schema, name)).join(' | ');
  }

  #plain(type: string, schema: JsonSchema, name: string): string {
    if (type === 'array') return `list[${this.#type(schema.items ?? {}, name)}]`;
    if (type !== 'object') return scalars[type] as string;
    if (schema.properties === undefined) return 'dict[str, Any]';
    const named = schema.title ?? name;
    if (!this.#classes.has(named) || schema.title === undefined) this.define(named, schema);
    return named;
  }

  toString(): string {
    return `${this.#parts.join('\n\n\n')}\n`;
  }
}

/** Returns the schema of an object without some of its fields. */
function without({ properties = {}, required = [] }: JsonSchema = {}, ...fields: string[]): JsonSchema {
  const rest = Object.entries(properties).filter(([name]) => !fields.includes(name));
  return {
    properties: Object.fromEntries(rest),
    required: required.filter((name) => !fields.includes(name)),
  };
}

/** Returns the parameters of an operation's query as an object's schema. */
function queryOf(document: Document, method: string, path: string, but: string[] = []): JsonSchema {
  const parameters = (document.paths[path]?.[method]?.parameters ?? []).filter(
    ({ name, in: place }) => place === 'query' && !but.includes(name),
  );
  return {
    properties: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
    required: parameters.filter(({ required }) => required).map(({ name }) => name),
  };
}

/** The possible forms of the data of a message, in the order of the document. */
const payloads = ['Reference', '', 'Deidentified'];

function messageSchema({ post }: Message): JsonSchema {
  return post.requestBody.content['application/cloudevents+json'].schema;
}

function defineMessages(module: PythonModule, { webhooks }: Document): void {
  const unions: Record<string, string[]> = {};
  for (const [type, message] of Object.entries(webhooks)) {
    const schema = messageSchema(message);
    const data = schema.properties?.data as JsonSchema;
    const name = `${pascal(type.replace(/^chartledger\.(.*)\.v1$/, '$1'))}Event`;
    if (data.anyOf === undefined) {
      module.define(name, schema);
      continue;
    }
    for (const [index, form] of data.anyOf.entries()) {
      const payload = payloads[index] as string;
      const message = payload + name;
      module.define(message, { ...schema, properties: { ...schema.properties, data: form } });
      unions[`${payload}Event`] = [...(unions[`${payload}Event`] ?? []), message];
    }
  }
  for (const [name, members] of Object.entries(unions)) module.union(name, members);
  module.alias('WebhookMessage', `Union[${[...Object.keys(unions), 'WebhookPingEvent'].join(', ')}]`);
}

const head = `"""What is sent and read, as the service's OpenAPI document has it. \`npm run docs\` writes this file."""

from __future__ import annotations

from typing import Any, Literal, Union

from typing_extensions import NotRequired, TypedDict


`;

/** Returns the types of the Python client. */
export function pythonTypes(): string {
  const document = openapiDocument(false) as Document;
  const { schemas } = document.components;
  const module = new PythonModule();
  module.values('Kind', schemas.BatchResult?.properties?.kind);
  module.values('DocumentCategory', schemas.Document?.properties?.category);
  module.values('ErrorCode', schemas.ErrorBody?.properties?.code);
  const message = messageSchema(document.webhooks['chartledger.patient.upserted.v1'] as Message);
  const deidentified = message.properties?.data?.anyOf?.[payloads.indexOf('Deidentified')];
  module.values('State', deidentified?.properties?.sent?.properties?.state);
  module.values('EventType', {
    enum: Object.keys(document.webhooks).filter((type) => !type.includes('.webhook.')),
  });
  for (const [name, schema] of Object.entries(schemas)) {
    if (!leftOut.includes(name)) module.define(name, schema);
  }
  module.define('WriteQuery', queryOf(document, 'post', '/integration/payers'));
  module.define('BatchQuery', queryOf(document, 'post', '/integration/batch'));
  module.define('ReadQuery', queryOf(document, 'get', '/integration/payers/{id}'));
  module.define('ListQuery', queryOf(document, 'get', '/integration/payers', ['page_token']));
  module.define('EncounterListQuery', queryOf(document, 'get', '/integration/encounters', ['page_token']));
  // A class cannot have a field named `from`.
  const worklistQuery = queryOf(document, 'get', '/integration/readiness', ['page_token', 'from']);
  module.define('WorklistQuery', worklistQuery);
  module.define('SearchQuery', without(schemas.Search, 'q', 'page_token'));
  defineMessages(module, document);
  return head + module;
}
