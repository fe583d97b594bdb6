import { openapiDocument } from '../../../api/routes/index.ts';
import { addressOf } from '../../../api/server/answer.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { input } from '../../components/forms.ts';
import { breadcrumb, contents } from '../../components/layout.ts';
import {
  type DashboardRoute,
  type Html,
  type HtmlValue,
  html,
  type Page,
  type Visit,
} from '../../components/page.ts';
import { textsOf } from '../../components/recordTable.ts';
import { empty } from '../../components/text.ts';
import { referencePath } from '../../components/urls.ts';
import {
  messageHeaders,
  messageSection,
  methodMark,
  operationPart,
  responseSection,
  schemaPart,
} from './operation.ts';
import {
  type Entry,
  type FoundEntry,
  type Group,
  inline,
  markdown,
  type OpenApiDocument,
  operationsOf,
  outlineOf,
  type PlacedOperation,
  searchOutline,
} from './outline.ts';
import { TryIt, type TryItPorts } from './tryIt.ts';

/** The menu's entry. */
const referenceSection = 'API reference';

/**
 * Returns a page of the reference next to its contents; `current` is the id of the entry or the group to which it
 * belongs.
 */
function referenceFrame(
  outline: readonly Group[],
  current: string,
  title: string,
  body: HtmlValue,
  action?: Html,
): Page {
  return {
    title,
    section: referenceSection,
    body: html`${breadcrumb([{ text: referenceSection, path: '/reference' }])}
<div class="page-head"><h1>${title}</h1>${action}</div>
<div class="reference">
<div class="contents" tabindex="0">
${searchForm('')}
${contents(referenceSection, outline, current)}
</div>
<div>${body}</div>
</div>`,
  };
}

/**
 * Returns the form that searches the reference. The search text says nothing about anybody, so it may be in the
 * address.
 */
function searchForm(text: string): Html {
  return html`<form method="get" action="${referencePath}" class="find" aria-label="API reference">
${input({ name: 'q', label: 'Search the reference', type: 'search', value: text, autocomplete: 'off' })}
<button type="submit">Search</button>
</form>`;
}

/** Returns the first page of the reference: where everything is, or what matches a search. */
function referenceIndex(
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
  return html`<div class="record-columns"><section id="introduction" class="reference-index">
<p class="muted">Version ${version}. For programs: <code>GET ${url}/openapi/json</code> (OpenAPI 3.1).</p>
${markdown(description)}
<p>The samples read the URL and the API key from the environment:</p>
<pre tabindex="0"><code>export CHARTLEDGER_URL=${url}
export CHARTLEDGER_API_KEY=clk_…</code></pre>
</section>
<div>${outline.map(
    ({ id, title, description, entries }) => html`<section class="reference-index" id="${id}">
<h2>${title}</h2>
${description && html`<p>${inline(description)}</p>`}
<ul>${entries.map((entry) => html`<li id="${entry.id}">${line(entry)}</li>`)}</ul>
</section>`,
  )}</div></div>`;
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

/** What `GET /openapi/json` returns, and where the reference has it. */
interface Described {
  document: OpenApiDocument;
  outline: Group[];
}

/** The API reference: what `GET /openapi/json` returns, for people to read. A page for each operation and schema. */
export function referenceRoutes(ports: TryItPorts): DashboardRoute[] {
  const { openapiPublic, publicUrl } = ports;
  const tryIt = new TryIt(ports);
  // The document never changes while the process runs.
  let known: Described | undefined;
  const described = (): Described => {
    if (known === undefined) {
      const document = openapiDocument(openapiPublic) as OpenApiDocument;
      known = { document, outline: outlineOf(document) };
    }
    return known;
  };
  const page = (
    path: string,
    draw: (described: Described, visit: Visit) => Page,
    query: readonly string[] = [],
  ): DashboardRoute => ({
    ...{ method: 'get', path, roles: 'signed-in', query },
    handle: async (visit) => ({ page: draw(described(), visit) }),
  });
  return [
    page(
      '/reference',
      ({ document, outline }, { req }) =>
        referenceIndex(document, outline, addressOf(req, publicUrl), (textsOf(req).q ?? '').trim()),
      ['q'],
    ),
    page('/reference/operations/:operation', (described, visit) => {
      const placed = operationAsked(described, visit);
      return operationPage(described, placed, tryIt.part(placed, visit));
    }),
    {
      ...{ method: 'post', path: '/reference/operations/:operation', roles: 'signed-in' },
      async handle(visit) {
        const placed = operationAsked(described(), visit);
        const { answer, error } = await tryIt.carryOut(placed, visit);
        const part = html`${answer}${tryIt.part(placed, visit, visit.form)}`;
        return { page: { ...operationPage(described(), placed, part), ...(error && { error }) } };
      },
    },
    page('/reference/messages', ({ document, outline }) => {
      const messages = operationsOf(document.webhooks);
      const body = html`${messageHeaders(messages)}${messages.map(messageSection)}`;
      return groupPage(outline, 'messages', body);
    }),
    page('/reference/errors', ({ document: { components }, outline }) => {
      const responses = Object.entries(components.responses);
      return groupPage(
        outline,
        'errors',
        responses.map(([name, response]) => responseSection(name, response)),
      );
    }),
    page('/reference/schemas/:schema', schemaPage),
  ];
}

function operationAsked({ document }: Described, { req }: Visit): PlacedOperation {
  const { operation: id } = req.params;
  const placed = operationsOf(document.paths).find(({ operation }) => operation.operationId === id);
  if (placed === undefined) throw new ServiceError('not_found', 'There is no such operation.');
  return placed;
}

function operationPage({ outline }: Described, placed: PlacedOperation, tryPart: Html): Page {
  const { operationId, summary } = placed.operation;
  const body = html`${operationPart(placed)}
<section aria-labelledby="try-it"><h2 id="try-it">Try it</h2>
${tryPart}
</section>`;
  const action = html`<div class="actions"><a role="button" href="#try-it">Try it</a></div>`;
  return referenceFrame(outline, operationId, summary, body, action);
}

function schemaPage({ document, outline }: Described, { req }: Visit): Page {
  const name = String(req.params.schema);
  const schema = Object.entries(document.components.schemas).find(([one]) => one === name)?.[1];
  if (schema === undefined) throw new ServiceError('not_found', 'There is no such schema.');
  return referenceFrame(outline, `schema-${name}`, name, schemaPart(name, schema));
}

function groupPage(outline: Group[], id: string, body: HtmlValue): Page {
  const { title, description } = outline.find((group) => group.id === id) as Group;
  return referenceFrame(outline, id, title, html`<p>${description}</p>${body}`);
}
