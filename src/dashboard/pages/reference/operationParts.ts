import { type Html, html } from '../../components/html.ts';
import { errorPath } from '../../components/referencePaths.ts';
import {
  type Content,
  isReference,
  type MediaType,
  nameOf,
  type PlacedOperation,
  type Reference,
  type ResponseObject,
} from './document.ts';
import { inline, markdown } from './markdown.ts';
import { samplesPart } from './samplesPart.ts';
import { fields, typeText } from './schemas.ts';

/** Returns one operation: what it accepts, how to call it, what it returns. */
export function operationPart(placed: PlacedOperation): Html {
  const { path, operation } = placed;
  return html`<section class="reference-part" id="${operation.operationId}">
<p class="endpoint">${methodMark(placed)} <code>${path}</code></p>
${markdown(operation.description)}
${parameterList(placed)}
${bodyPart(placed)}
<h2>Samples</h2>
${samplesPart(placed)}
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
