import { iso8601 } from '../../../domain/records/schema/isoDates.ts';
import { type Html, type HtmlValue, html } from '../../components/page.ts';
import { errorPath, schemaPath } from '../../components/urls.ts';
import {
  type Content,
  inline,
  isReference,
  type MediaType,
  markdown,
  nameOf,
  type PlacedOperation,
  type Reference,
  type ResponseObject,
  type Schema,
  type SchemaOrReference,
} from './outline.ts';
import { samplesPart } from './samples.ts';

/** One field, parameter or header: its name, possible values and meaning. */
interface Field {
  name: string;
  isRequired: boolean;
  schema: SchemaOrReference;
  description?: string | undefined;
  /** Where it is sent, where that is not the body. */
  place?: string;
}

/** Returns a schema of the document: its meaning and its fields. */
export function schemaPart(name: string, schema: Schema): Html {
  return html`<section class="reference-part" id="schema-${name}">
${schema.description && html`<p>${inline(schema.description)}</p>`}
${schema.properties ? html`<div class="schema">${fields(propertiesOf(schema))}</div>` : html`<p>${typeText(schema)}</p>`}
</section>`;
}

/** Returns the fields of a schema with properties. */
function propertiesOf({ properties = {}, required = [] }: Schema): Field[] {
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    schema,
    isRequired: required.includes(name),
    description: isReference(schema) ? undefined : schema.description,
  }));
}

function fields(list: readonly Field[]): Html {
  return html`<dl class="fields">${list.map(
    ({ name, isRequired, schema, description, place }) => html`<div>
<dt><code>${name}</code> ${isRequired && html`<span class="required">required</span> `}<span class="muted">${
      place && `${place}, `
    }${typeText(schema)}</span></dt>
<dd>${description && html`<p>${inline(description)}</p>`}${details(schema)}</dd>
</div>`,
  )}</dl>`;
}

/** Returns what values a schema accepts, in words; references link to their page. */
function typeText(schema: SchemaOrReference): HtmlValue {
  if (isReference(schema)) {
    const name = nameOf(schema);
    return html`<a href="${schemaPath(name)}">${name}</a>`;
  }
  const { type, anyOf, oneOf, items, format, pattern } = schema;
  const alternatives = anyOf ?? oneOf;
  if (alternatives) return joined(alternatives.map(typeText));
  if (pattern === iso8601.source) return `${typeNames(type)}, a date or date and time (ISO 8601)`;
  const limits = [...(format ? [format] : []), ...limitTexts(schema)];
  const names = type === 'array' && items ? html`array of ${typeText(items)}` : typeNames(type);
  return html`${names}${limits.length > 0 && `, ${limits.join(', ')}`}`;
}

function typeNames(type: Schema['type']): string {
  return [type ?? 'any value'].flat().join(' or ');
}

function joined(parts: HtmlValue[]): HtmlValue {
  return parts.map((part, at) => (at === 0 ? part : html` or ${part}`));
}

function limitTexts({
  minLength,
  maxLength,
  minimum,
  maximum,
  minItems,
  default: fallback,
}: Schema): string[] {
  const range = (least: number | undefined, most: number | undefined, unit: string): string[] => {
    if (least === undefined && most === undefined) return [];
    const text = (value: number) => value.toLocaleString('en-US');
    if (least === most) return [`${text(least as number)}${unit}`];
    if (most === undefined) return [`at least ${text(least as number)}${unit}`];
    return [least === undefined ? `at most ${text(most)}${unit}` : `${text(least)} to ${text(most)}${unit}`];
  };
  return [
    ...range(minLength, maxLength, ' characters'),
    ...range(minimum, maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum, ''),
    ...range(minItems, undefined, ' items'),
    ...(fallback === undefined ? [] : [`default ${JSON.stringify(fallback)}`]),
  ];
}

/** Returns values, an example, and the nested fields. */
function details(schema: SchemaOrReference): Html {
  if (isReference(schema)) return html``;
  const { enum: all, examples, items, additionalProperties: more } = schema;
  const values = all?.filter((value) => value !== null);
  const inner = [schema, items, more].find(
    (one): one is Schema => one !== undefined && !isReference(one) && one.properties !== undefined,
  );
  const innerFields = inner ? propertiesOf(inner) : [];
  return html`${values && html`<p>${values.length === 1 ? 'Only' : 'One of'} ${codes(values)}</p>`}${
    !values && examples && html`<p class="muted">For example ${codes(examples)}</p>`
  }${innerFields.length > 0 && fields(innerFields)}`;
}

function codes(values: readonly unknown[]): Html[] {
  return values.map((value, at) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return html`${at > 0 && ', '}<code>${text}</code>`;
  });
}

/** Returns one operation: what it accepts, how to call it, what it returns. */
export function operationPart(placed: PlacedOperation): Html {
  const { path, operation } = placed;
  return html`<section class="reference-part" id="${operation.operationId}">
<p class="endpoint">${methodMark(placed)} <code>${path}</code></p>
<div class="operation"><div>
${markdown(operation.description)}
${parameterList(placed)}
${bodyPart(placed)}</div>
<div class="samples"><h2>Samples</h2>
${samplesPart(placed)}</div></div>
<h2>Responses</h2>
<dl class="fields answers">${Object.entries(operation.responses).map(([status, response]) => answer(status, response))}</dl>
</section>`;
}

/** Returns the method of an operation, distinguishable at a glance. */
export function methodMark({ method }: PlacedOperation): Html {
  return html`<span class="method method-${method}">${method.toUpperCase()}</span>`;
}

/** Returns the section of one message that is sent to webhooks. */
export function messageSection(placed: PlacedOperation): Html {
  const { path, operation } = placed;
  const { operationId: id, summary, description } = operation;
  return html`<section class="reference-part" id="${id}">
<h2><a class="anchor" href="#${id}">${summary}</a></h2>
<p class="endpoint"><code>${path}</code></p>
${markdown(description)}
${operation.requestBody && contentPart(operation.requestBody.content)}
</section>`;
}

/** Returns the headers that every message to a webhook has. */
export function messageHeaders([first]: readonly PlacedOperation[]): Html {
  return html`${first && parameterList(first)}`;
}

/** Returns the body of an error response that operations share. */
export function responseSection(name: string, { description, content }: ResponseObject): Html {
  return html`<section class="reference-part" id="response-${name}">
<h2><a class="anchor" href="#response-${name}">${name}</a></h2>
<p>${inline(description)}</p>
${content && contentPart(content)}
</section>`;
}

function bodyPart({ operation: { requestBody } }: PlacedOperation): Html {
  return html`${requestBody && html`<h2>Body</h2>${contentPart(requestBody.content)}`}`;
}

function parameterList({ operation: { parameters = [] } }: PlacedOperation): Html {
  const list = parameters.map(({ name, required = false, schema, description, in: place }) => ({
    name,
    isRequired: required,
    schema,
    description,
    place,
  }));
  return html`${list.length > 0 && html`<h2>Parameters</h2>${fields(list)}`}`;
}

function answer(status: string, response: ResponseObject | Reference): Html {
  if (isReference(response)) {
    const name = nameOf(response);
    return html`<div><dt><code>${status}</code> <a href="${errorPath(name)}">${name}</a></dt></div>`;
  }
  const { description, content } = response;
  return html`<div><dt><code>${status}</code></dt><dd><p>${inline(description)}</p>${content && contentPart(content)}</dd></div>`;
}

function contentPart(content: Content): Html[] {
  return Object.entries(content).map(
    ([type, media]) =>
      html`<p><code>${type}</code>${media.schema && html`: ${typeText(media.schema)}`}</p>${examples(media)}`,
  );
}

function examples({ example, examples: named = {} }: MediaType): Html[] {
  const all = example === undefined ? Object.entries(named) : [['Example', { value: example }] as const];
  return all.map(
    ([name, { summary = name, value }]: readonly [string, { summary?: string; value: unknown }]) =>
      html`<details><summary>${inline(summary)}</summary><pre tabindex="0"><code>${
        typeof value === 'string' ? value : JSON.stringify(value, null, 2)
      }</code></pre></details>`,
  );
}
