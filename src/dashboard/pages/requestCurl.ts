import type { RefusedRequestView } from '../../api/routes/requestSchemas.ts';
import { UNKNOWN_FIELD } from '../../api/server/failingFields.ts';
import { quoted } from './reference/curlSample.ts';
import type { Method, OpenApiDocument, OperationObject, ParameterObject } from './reference/document.ts';

type JsonShape = { [name: string]: string | JsonShape };

/** The members of a batch line; other fields at fault are those of its record. */
const lineMembers = ['kind', 'record', 'if_match'];

/**
 * Returns a call with curl in the shape of a refused request: its method and path, and the fields at fault, with
 * placeholders such as `<last_name>` for all values, which were not kept.
 */
export function requestCurl(
  { method, route, fields }: Pick<RefusedRequestView, 'method' | 'route' | 'fields'>,
  { paths }: OpenApiDocument,
  address: string,
): string {
  const template = route.replace(/:(\w+)/g, '{$1}');
  const asked = method === 'HEAD' ? 'get' : method.toLowerCase();
  const operation: Partial<OperationObject> = paths[template]?.[asked as Method] ?? {};
  const { parameters = [], requestBody } = operation;
  const isIn = (place: ParameterObject['in']) => (field: string) =>
    parameters.some((one) => one.in === place && one.name === field);
  const known = fields.filter((field) => field !== UNKNOWN_FIELD);
  const query = known.filter(isIn('query')).map((field) => `${field}=${placeholder(field)}`);
  const path = template.replace(/\{(\w+)\}/g, '<$1>');
  const url = `${address}${path}${query.length > 0 ? `?${query.join('&')}` : ''}`;
  const headers = [
    'x-api-key: <API_KEY>',
    ...known.filter(isIn('header')).map((name) => `${name}: ${placeholder(name)}`),
  ];
  const inBody = known.filter((field) => !parameters.some(({ name }) => name === field));
  const [type] = Object.keys(requestBody?.content ?? {});
  return [
    `curl ${method === 'HEAD' ? '--head' : `-X ${method}`} ${quoted(url)}`,
    ...headers.map((header) => `-H ${quoted(header)}`),
    ...(type === undefined ? [] : bodyParts(type, isUpsert(operation), inBody)),
  ].join(' \\\n  ');
}

function isUpsert({ operationId = '' }: Partial<OperationObject>): boolean {
  return operationId.startsWith('upsert');
}

function bodyParts(type: string, hasId: boolean, fields: readonly string[]): string[] {
  if (type.startsWith('multipart/'))
    return ['file=@<file>', 'document_id=<document_id>', 'category=<category>'].map(
      (part) => `-F ${quoted(part)}`,
    );
  const header = `-H ${quoted(`content-type: ${type}`)}`;
  if (type === 'application/x-ndjson') {
    const ofRecord = fields.filter((field) => !lineMembers.includes(field) && !field.startsWith('record.'));
    const line = { kind: '<kind>', record: shapeOf(['id', ...ofRecord]) };
    return [header, `--data-binary ${quoted(JSON.stringify(line))}`];
  }
  const sent = hasId ? ['id', ...fields] : fields;
  const body = sent.length === 0 ? '<body>' : JSON.stringify(shapeOf(sent), null, 2);
  return [header, `-d ${quoted(body)}`];
}

/** Returns an object with these fields, dotted ones in objects of their own. */
function shapeOf(fields: readonly string[]): JsonShape {
  const shape: JsonShape = {};
  for (const field of fields) {
    const [name = '', inner] = field.split('.');
    if (inner === undefined) shape[name] ??= placeholder(name);
    else {
      const outer = shape[name];
      shape[name] = { ...(typeof outer === 'object' && outer), [inner]: placeholder(inner) };
    }
  }
  return shape;
}

function placeholder(name: string): string {
  return `<${name}>`;
}
