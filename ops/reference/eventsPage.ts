import { type EventSchema, eventSchemas, jsonSchemaOf } from '../../src/modules/eventStream/asyncapi.ts';
import { code, page, table } from './markdown.ts';

/** What the reference uses of a JSON Schema. */
interface JsonSchema {
  type?: string | string[];
  description?: string;
  enum?: string[];
  anyOf?: JsonSchema[];
  $ref?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  $defs?: Record<string, JsonSchema>;
}

/** Where a list of values is longer, its description has to do. */
const MOST_VALUES_SHOWN = 15;

/** Returns the alternatives of a schema, without `null`. */
function partsOf(schema: JsonSchema): JsonSchema[] {
  return [schema, ...(schema.anyOf ?? [])].filter(({ type }) => type !== 'null');
}

/** Returns what a field may contain, in words. */
function meaningOf(schema: JsonSchema): string {
  const parts = partsOf(schema);
  const definition = parts
    .find((part) => part.$ref !== undefined)
    ?.$ref?.split('/')
    .pop();
  if (definition !== undefined)
    return `See [${definition.replace('Deidentified', '')}](#${definition.replace('Deidentified', '').toLowerCase()}).`;
  const description = parts.find((part) => part.description !== undefined)?.description;
  const values = parts.find((part) => part.enum !== undefined)?.enum;
  const listed = values === undefined || values.length > MOST_VALUES_SHOWN ? '' : values.map(code).join(', ');
  return [description, listed].filter(Boolean).join(': ');
}

function rowsOf(full: JsonSchema, shown: JsonSchema | undefined): string[][] {
  return Object.entries(full.properties ?? {}).map(([field, schema]) => {
    const inView = shown?.properties?.[field];
    const view = inView === undefined ? 'left out' : meaningOf(inView);
    const meaning = meaningOf(schema);
    return [
      code(field),
      full.required?.includes(field) ? 'always' : '',
      meaning,
      view === meaning || view === '' ? 'shown' : view,
    ];
  });
}

const headings = ['field of `data.sent`', 'sent', 'meaning', 'in the de-identified view'];

function sectionsOf({ name, title, feedType }: EventSchema): string[] {
  const schemaOf = (schemaName: string) =>
    jsonSchemaOf(eventSchemas.get(schemaName) as EventSchema) as JsonSchema;
  const deidentified = [...eventSchemas.values()].find(
    (other) => other.view === 'deidentified' && other.feedType === feedType,
  ) as EventSchema;
  const [full, shown] = [schemaOf(name), schemaOf(deidentified.name)];
  const sent = rowsOf(full.properties?.sent as JsonSchema, shown.properties?.sent);
  const nested = Object.entries(full.$defs ?? {}).flatMap(([definition, schema]) => [
    `### ${definition}`,
    schema.description ?? '',
    table(headings, rowsOf(schema, shown.$defs?.[`Deidentified${definition}`])),
  ]);
  return [
    `## ${name}`,
    `${title}. In the log: ${code(feedType.eventType)}. De-identified: ${code(deidentified.name)}.`,
    table(headings, sent),
    ...nested,
  ];
}

/** `docs/reference/events.md` */
export function eventsPage(): string {
  const full = [...eventSchemas.values()].filter(({ view }) => view === 'full');
  return page(
    'Events',
    'The events of `GET /events` and of webhooks. `data` of each has `version`, its place in the history of the record or ' +
      'document, or among the events about its readiness; `sent`, the fields as they were sent; and `changed`, the names of the fields whose value it changed. ' +
      '`GET /asyncapi/json` describes all events, and `GET /schemas/{name}` has the JSON Schema of each.',
    ...full.flatMap(sectionsOf),
  );
}
