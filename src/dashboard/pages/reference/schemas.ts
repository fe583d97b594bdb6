import { iso8601 } from '../../../domain/records/schema/fields.ts';
import { type Html, type HtmlValue, html } from '../../components/html.ts';
import { schemaPath } from '../../components/referencePaths.ts';
import { isReference, nameOf, type Schema, type SchemaOrReference } from './document.ts';
import { inline } from './markdown.ts';

/** One field, parameter or header: its name, possible values and meaning. */
export interface Field {
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
${schema.properties ? fields(propertiesOf(schema)) : html`<p>${typeText(schema)}</p>`}
</section>`;
}

/** Returns the fields of a schema with properties. */
export function propertiesOf({ properties = {}, required = [] }: Schema): Field[] {
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    schema,
    isRequired: required.includes(name),
    description: isReference(schema) ? undefined : schema.description,
  }));
}

export function fields(list: readonly Field[]): Html {
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
export function typeText(schema: SchemaOrReference): HtmlValue {
  if (isReference(schema)) {
    const name = nameOf(schema);
    return html`<a href="${schemaPath(name)}">${name}</a>`;
  }
  const { type, anyOf, items, format, pattern } = schema;
  if (anyOf) return joined(anyOf.map(typeText));
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
