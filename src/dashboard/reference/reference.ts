import { openapiDocument } from '../../http/endpoints/index.ts';
import { addressOf } from '../../http/server/addressOf.ts';
import { type Html, html } from '../shell/html.ts';
import { type DashboardRoute, everyone } from '../shell/route.ts';
import { type OpenApiDocument, operationsOf, type PlacedOperation } from './document.ts';
import { inline, markdown } from './markdown.ts';
import { messageSection, operationSection, responseSection } from './operationSection.ts';
import { schemaSection } from './schemas.ts';

interface ReferencePorts {
  openapiPublic: boolean;
  publicUrl: string | undefined;
}

/** The API reference: what `GET /openapi/json` answers, to be read by people. */
export function referenceRoutes({ openapiPublic, publicUrl }: ReferencePorts): DashboardRoute[] {
  // The document never changes while the process runs.
  let parts: Parts | undefined;
  return [
    {
      method: 'get',
      path: '/reference',
      roles: everyone,
      async handle({ req }) {
        parts ??= draw(openapiDocument(openapiPublic) as OpenApiDocument);
        const body = page(parts, addressOf(req, publicUrl));
        return { page: { title: 'API reference', section: 'API reference', body } };
      },
    },
  ];
}

interface Parts {
  version: string;
  contents: Html;
  introduction: Html[];
  sections: Html;
}

function page({ version, contents, introduction, sections }: Parts, url: string): Html {
  return html`<h1>API reference</h1>
<div class="reference">
${contents}
<div>
<section id="introduction">
<p class="muted">Version ${version}. For programs: <code>GET ${url}/openapi/json</code> (OpenAPI 3.1).</p>
${introduction}
<p>The calls below take the address and the key from the environment:</p>
<pre><code>export CHARTLEDGER_URL=${url}
export CHARTLEDGER_API_KEY=clk_…</code></pre>
</section>
${sections}
</div>
</div>`;
}

interface Group {
  id: string;
  title: string;
  description?: string;
  entries: { id: string; title: string; section: Html }[];
}

function draw(document: OpenApiDocument): Parts {
  const { info } = document;
  const groups = groupsOf(document);
  return {
    version: info.version,
    introduction: markdown(info.description),
    contents: html`<nav class="contents" aria-label="On this page"><ul>
<li><a href="#introduction">Introduction</a></li>
${groups.map(
  ({ id, title, entries }) =>
    html`<li><a href="#${id}">${title}</a><ul>${entries.map(
      (entry) => html`<li><a href="#${entry.id}">${entry.title}</a></li>`,
    )}</ul></li>`,
)}
</ul></nav>`,
    sections: html`${groups.map(
      ({ id, title, description, entries }) => html`<h2 id="${id}">${title}</h2>
${description && html`<p>${inline(description)}</p>`}
${entries.map(({ section }) => section)}`,
    )}`,
  };
}

function groupsOf({ tags, paths, webhooks, components }: OpenApiDocument): Group[] {
  const operations = operationsOf(paths);
  const entry = (placed: PlacedOperation, draw: (placed: PlacedOperation) => Html) => ({
    id: placed.operation.operationId,
    title: placed.operation.summary,
    section: draw(placed),
  });
  return [
    ...tags.map(({ name, description }) => ({
      id: `tag-${name}`,
      title: name,
      description,
      entries: operations
        .filter(({ operation }) => operation.tags.includes(name))
        .map((placed) => entry(placed, operationSection)),
    })),
    {
      id: 'messages',
      title: 'Webhook messages',
      description: 'What is sent to the URL of a webhook, by POST.',
      entries: operationsOf(webhooks).map((placed) => entry(placed, messageSection)),
    },
    {
      id: 'errors',
      title: 'Errors',
      description: 'What operations answer when they do not do what was asked.',
      entries: Object.entries(components.responses).map(([name, response]) => ({
        id: `response-${name}`,
        title: name,
        section: responseSection(name, response),
      })),
    },
    {
      id: 'schemas',
      title: 'Schemas',
      entries: Object.entries(components.schemas).map(([name, schema]) => ({
        id: `schema-${name}`,
        title: name,
        section: schemaSection(name, schema),
      })),
    },
  ];
}
