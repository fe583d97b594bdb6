import { type Html, html } from '../shell/html.ts';
import { curlSample } from './curlSample.ts';
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
import { fields, typeText } from './schemas.ts';

/** The section of one operation: what it takes, what it answers, how to call it. */
export function operationSection(placed: PlacedOperation): Html {
  const { path, method, operation } = placed;
  const { operationId: id } = operation;
  return html`${opening(placed)}
<p class="endpoint"><span class="method method-${method}">${method.toUpperCase()}</span> <code>${path}</code></p>
${markdown(operation.description)}
${parameterList(placed)}
${operation.requestBody && html`<h4>Body</h4>${contentPart(operation.requestBody.content)}`}
${call(`${id}-call`, curlSample(placed))}
<h4>Answers</h4>
<dl class="fields answers">${Object.entries(operation.responses).map(([status, response]) => answer(status, response))}</dl>
</section>`;
}

/** The section of one message that is sent to webhooks. */
export function messageSection(placed: PlacedOperation): Html {
  const { path, operation } = placed;
  return html`${opening(placed)}
<p class="endpoint"><code>${path}</code></p>
${markdown(operation.description)}
${parameterList(placed)}
${operation.requestBody && html`<h4>Body</h4>${contentPart(operation.requestBody.content)}`}
</section>`;
}

/** What an error's answer says, for those that operations share. */
export function responseSection(name: string, { description, content }: ResponseObject): Html {
  return html`<section class="reference-part" id="response-${name}">
<h3><a class="anchor" href="#response-${name}">${name}</a></h3>
<p>${inline(description)}</p>
${content && contentPart(content)}
</section>`;
}

function opening({ operation: { operationId: id, summary } }: PlacedOperation): Html {
  return html`<section class="reference-part" id="${id}">
<h3><a class="anchor" href="#${id}">${summary}</a></h3>`;
}

function parameterList({ operation: { parameters = [] } }: PlacedOperation): Html {
  const list = parameters.map(({ name, required = false, schema, description, in: place }) => ({
    name,
    isRequired: required,
    schema,
    description,
    place,
  }));
  return html`${list.length > 0 && html`<h4>Parameters</h4>${fields(list)}`}`;
}

function answer(status: string, response: ResponseObject | Reference): Html {
  if (isReference(response)) {
    const name = nameOf(response);
    return html`<div><dt><code>${status}</code> <a href="#response-${name}">${name}</a></dt></div>`;
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
      html`<details><summary>${inline(summary)}</summary><pre><code>${
        typeof value === 'string' ? value : JSON.stringify(value, null, 2)
      }</code></pre></details>`,
  );
}

function call(id: string, text: string): Html {
  return html`<div class="call"><h4>Call</h4><button type="button" class="outline secondary" data-copy="${id}" aria-label="Copy the call">Copy</button></div>
<pre id="${id}"><code>${text}</code></pre>`;
}
