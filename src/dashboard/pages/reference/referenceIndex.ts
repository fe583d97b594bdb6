import { type Html, html } from '../../components/html.ts';
import { referencePath } from '../../components/referencePaths.ts';
import type { Page } from '../../components/route.ts';
import { empty } from '../../components/text.ts';
import type { OpenApiDocument } from './document.ts';
import { inline, markdown } from './markdown.ts';
import { methodMark } from './operationParts.ts';
import type { Entry, Group } from './outline.ts';
import { referenceSection, searchForm } from './referenceFrame.ts';
import { type FoundEntry, searchOutline } from './searchOutline.ts';

/** Returns the first page of the reference: where everything is, or what matches a search. */
export function referenceIndex(
  { info }: OpenApiDocument,
  outline: readonly Group[],
  url: string,
  text: string,
): Page {
  const body = text === '' ? overview(info, outline, url) : results(searchOutline(outline, text), text);
  return {
    title: text === '' ? referenceSection : `Search: ${referenceSection}`,
    section: referenceSection,
    body: html`<h1>API reference</h1>
${searchForm(text)}
${body}`,
  };
}

function overview({ version, description }: OpenApiDocument['info'], outline: readonly Group[], url: string) {
  return html`<section id="introduction" class="reference-index">
<p class="muted">Version ${version}. For programs: <code>GET ${url}/openapi/json</code> (OpenAPI 3.1).</p>
${markdown(description)}
<p>The samples read the URL and the API key from the environment:</p>
<pre tabindex="0"><code>export CHARTLEDGER_URL=${url}
export CHARTLEDGER_API_KEY=clk_…</code></pre>
</section>
${outline.map(
  ({ id, title, description, entries }) => html`<section class="reference-index" id="${id}">
<h2>${title}</h2>
${description && html`<p>${inline(description)}</p>`}
<ul>${entries.map((entry) => html`<li id="${entry.id}">${line(entry)}</li>`)}</ul>
</section>`,
)}`;
}

/** Links from outside, to a part of what was once a single page, end at its line here. */
function line({ path, title, operation }: Entry): Html {
  return html`<a href="${path}">${title}</a>${
    operation &&
    html` <span class="endpoint">${operation.path.startsWith('/') && methodMark(operation)} <code>${operation.path}</code></span>`
  }`;
}

function results(found: readonly FoundEntry[], text: string): Html {
  const all = html`<p><a href="${referencePath}">Whole reference</a></p>`;
  if (found.length === 0) {
    return html`${empty(html`Nothing in the reference matches all of <code>${text}</code>. Try fewer words, or part of a word.`)}${all}`;
  }
  return html`<section class="reference-index" aria-label="Results">
<h2>${found.length} ${found.length === 1 ? 'result' : 'results'}</h2>
<ul>${found.map((entry) => html`<li>${line(entry)} <span class="muted">${entry.group}</span></li>`)}</ul>
</section>
${all}`;
}
