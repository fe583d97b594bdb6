import type { RefusedRequestView } from '../../api/routes/requests.ts';
import { NDJSON, UNKNOWN_FIELD } from '../../api/server/answer.ts';
import { fieldNames } from '../../modules/integrations/hl7/fieldNames.ts';
import { titleOf } from '../components/labels.ts';
import { type Html, html } from '../components/page.ts';
import { code } from '../components/text.ts';
import {
  isReference,
  type Method,
  nameOf,
  type OpenApiDocument,
  type OperationObject,
  type ParameterObject,
  type Schema,
  type SchemaOrReference,
} from './reference/outline.ts';
import { quoted } from './reference/samples.ts';

type Fault = RefusedRequestView['faults'][number];

/** The route and the faults of a request, which decide what a similar one looks like. */
type Shape = Pick<RefusedRequestView, 'method' | 'route' | 'fields'> & { kind?: string | null };

/** Returns the operation of a refused request; without any of its parts where the document does not have it. */
function operationOf({ method, route }: Shape, { paths }: OpenApiDocument): Partial<OperationObject> {
  const asked = method === 'HEAD' ? 'get' : method.toLowerCase();
  return paths[templateOf(route)]?.[asked as Method] ?? {};
}

function templateOf(route: string): string {
  return route.replace(/:(\w+)/g, '{$1}');
}

/** Returns the schema of what a request has in its body: of a batch, that of a record of the kind. */
function bodySchemaOf(request: Shape, document: OpenApiDocument): Schema | undefined {
  const { kind } = request;
  const content = operationOf(request, document).requestBody?.content ?? {};
  if (NDJSON in content) return kind ? document.components.schemas[titleOf(kind)] : undefined;
  const [media] = Object.values(content);
  return resolved(media?.schema, document);
}

/** Returns the schema to which a reference leads, or of several the first of an object. */
function resolved(schema: SchemaOrReference | undefined, document: OpenApiDocument): Schema | undefined {
  if (schema === undefined) return undefined;
  if (isReference(schema)) return document.components.schemas[nameOf(schema)];
  const [first] = schema.anyOf ?? [];
  return first && isReference(first) ? resolved(first, document) : schema;
}

/** Returns the schema of a field, dotted if nested; undefined where it is not in the body. */
function fieldSchema(body: Schema | undefined, field: string, document: OpenApiDocument): Schema | undefined {
  return field
    .split('.')
    .reduce<Schema | undefined>((outer, name) => resolved(outer?.properties?.[name], document), body);
}

/** Returns the schema of a parameter or field of a request. */
function schemaOf(request: Shape, field: string, document: OpenApiDocument): Schema | undefined {
  const { parameters = [] } = operationOf(request, document);
  const parameter = parameters.find(({ name }) => name === field);
  return parameter ? parameter.schema : fieldSchema(bodySchemaOf(request, document), field, document);
}

function choicesOf({ enum: values = [] }: Schema): string {
  return values.filter((value) => value !== null).join(', ');
}

/** Returns a field at fault; one of HL7 v2 with its name. */
export function faultField(field: string): Html {
  const name = fieldNames.get(field);
  return html`${code(field)}${name !== undefined && ` ${name}`}`;
}

/** Returns the faults that are known of a request: of one with lines, those of its first ones. */
export function faultsIn({ faults, lines }: Pick<RefusedRequestView, 'faults' | 'lines'>): {
  fault: Fault;
  kind: string | null;
}[] {
  const known = [
    ...faults.map((fault) => ({ fault, kind: null })),
    ...(lines?.first ?? []).flatMap(({ faults: own, kind }) => own.map((fault) => ({ fault, kind }))),
  ];
  return [...Map.groupBy(known, ({ fault }) => fault.field).values()].flatMap(([first]) => first ?? []);
}

/** Returns what is wrong with a field in words that say what to send, as they follow the field's name. `missing`: the id of the missing record, if it may be shown. */
export function faultText(
  { field, code: wrong, kind }: Fault,
  request: Shape,
  document: OpenApiDocument,
  missing?: string,
): string {
  const schema = schemaOf(request, field, document) ?? {};
  switch (wrong) {
    case 'required':
      return 'is required';
    case 'reference_not_found':
      return `refers to a ${kind ?? 'record'}${missing === undefined ? '' : ` ${missing}`} that does not exist`;
    case 'not_a_choice':
      return schema.enum ? `must be one of ${choicesOf(schema)}` : 'is not one of the possible values';
    case 'wrong_type':
      return `must be a ${[schema.type].flat().find((type) => type !== 'null') ?? 'value of another type'}`;
    case 'empty':
      return 'must not be empty';
    case 'wrong_length':
      return lengthText(schema);
    case 'out_of_range':
      return `must be from ${schema.minimum ?? '…'} to ${schema.maximum ?? '…'}`;
    case 'no_date':
      return `must be an ISO 8601 date${exampleOf(schema)}`;
    case 'repeated':
      return 'must be sent once';
    case 'unknown':
      return 'is not a field of the interface';
    default:
      return `is not valid${exampleOf(schema, ': send a value')}`;
  }
}

function lengthText({ minLength, maxLength, pattern = '' }: Schema): string {
  const [, digits] = /^\^\\d\{(\d+)\}\$$/.exec(pattern) ?? [];
  if (digits !== undefined) return `must be exactly ${digits} digits`;
  if (minLength !== undefined && minLength === maxLength) return `must be exactly ${minLength} characters`;
  return maxLength === undefined ? 'has a wrong length' : `must be at most ${maxLength} characters`;
}

function exampleOf({ examples }: Schema, before = ''): string {
  return examples?.[0] === undefined ? '' : `${before}, such as ${String(examples[0])}`;
}

type JsonShape = { [name: string]: string | JsonShape };

/** The members of a batch line; other fields at fault are those of its record. */
const lineMembers = ['kind', 'record', 'if_match'];

/**
 * Returns a call with curl in the shape of a refused request: its method and path, what is required, and the fields at fault. All
 * values, which were not kept, are placeholders such as `<last_name>`; filled in as they say, the call is accepted.
 */
export function requestCurl(request: Shape, document: OpenApiDocument, address: string): string {
  const { method, route, fields } = request;
  const operation = operationOf(request, document);
  const { parameters = [], requestBody } = operation;
  const isIn = (place: ParameterObject['in']) => (field: string) =>
    parameters.some((one) => one.in === place && one.name === field);
  const known = fields.filter((field) => field !== UNKNOWN_FIELD);
  const query = known.filter(isIn('query')).map((field) => `${field}=${placeholder(field)}`);
  const path = templateOf(route).replace(/\{(\w+)\}/g, '<$1>');
  const url = `${address}${path}${query.length > 0 ? `?${query.join('&')}` : ''}`;
  const headers = [
    'x-api-key: <API_KEY>',
    ...known.filter(isIn('header')).map((name) => `${name}: ${placeholder(name)}`),
  ];
  const inBody = known.filter((field) => !parameters.some(({ name }) => name === field));
  const types = Object.keys(requestBody?.content ?? {});
  const type = types.includes(NDJSON) ? NDJSON : types[0];
  const body = (sent: readonly string[]) => shapeOf(sent, bodySchemaOf(request, document), document);
  return [
    `curl ${method === 'HEAD' ? '--head' : `-X ${method}`} ${quoted(url)}`,
    ...headers.map((header) => `-H ${quoted(header)}`),
    ...(type === undefined ? [] : bodyParts(type, isUpsert(operation), inBody, body)),
  ].join(' \\\n  ');
}

function isUpsert({ operationId = '' }: Partial<OperationObject>): boolean {
  return operationId.startsWith('upsert');
}

function bodyParts(
  type: string,
  isWhole: boolean,
  fields: readonly string[],
  bodyOf: (fields: readonly string[]) => JsonShape,
): string[] {
  if (type.startsWith('multipart/'))
    return ['file=@<file>', 'document_id=<document_id>', 'category=<category>'].map(
      (part) => `-F ${quoted(part)}`,
    );
  const header = `-H ${quoted(`content-type: ${type}`)}`;
  if (type === NDJSON) {
    const ofRecord = fields.filter((field) => !lineMembers.includes(field) && !field.startsWith('record.'));
    const line = { kind: '<kind>', record: bodyOf(['id', ...ofRecord]) };
    return [header, `--data-binary ${quoted(JSON.stringify(line))}`];
  }
  const isEmpty = !isWhole && fields.length === 0;
  const body = isEmpty ? '<body>' : JSON.stringify(bodyOf(isWhole ? ['id', ...fields] : fields), null, 2);
  return [header, `-d ${quoted(body)}`];
}

/** Returns an object with these fields, dotted ones in objects of their own, and what each object requires, in the order of the schema. */
function shapeOf(
  fields: readonly string[],
  schema: Schema | undefined,
  document: OpenApiDocument,
  isWhole = fields.includes('id'),
): JsonShape {
  const inner = Map.groupBy(fields, (field) => field.split('.')[0] as string);
  const required = isWhole ? (schema?.required ?? []) : [];
  const names = new Set([...required, ...inner.keys()]);
  const known = Object.keys(schema?.properties ?? {}).filter((name) => names.has(name));
  const shape: JsonShape = {};
  for (const name of [...known, ...[...names].filter((one) => !known.includes(one))]) {
    const nested = (inner.get(name) ?? []).flatMap((field) => field.split('.').slice(1).join('.') || []);
    const own = resolved(schema?.properties?.[name], document);
    shape[name] =
      nested.length > 0 || own?.properties ? shapeOf(nested, own, document, true) : placeholder(name, own);
  }
  return shape;
}

/** Returns what stands for a value: the name of its field, and which values there are. */
function placeholder(name: string, schema: Schema = {}): string {
  if (schema.enum) return `<one of ${choicesOf(schema)}>`;
  return `<${name}>`;
}
