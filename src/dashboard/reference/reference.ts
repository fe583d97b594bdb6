import { ServiceError } from '../../errors.ts';
import { openapiDocument } from '../../http/endpoints/index.ts';
import { addressOf } from '../../http/server/addressOf.ts';
import { textsOf } from '../records/recordQuery.ts';
import { type HtmlValue, html } from '../shell/html.ts';
import { type DashboardRoute, everyone, type Page, type Visit } from '../shell/route.ts';
import { type OpenApiDocument, operationsOf } from './document.ts';
import { messageHeaders, messageSection, operationPart, responseSection } from './operationParts.ts';
import { type Group, outlineOf } from './outline.ts';
import { referenceFrame } from './referenceFrame.ts';
import { referenceIndex } from './referenceIndex.ts';
import { schemaPart } from './schemas.ts';

interface ReferencePorts {
  openapiPublic: boolean;
  publicUrl: string | undefined;
}

/** What `GET /openapi/json` answers, and where the reference has it. */
interface Described {
  document: OpenApiDocument;
  outline: Group[];
}

/** The API reference: what `GET /openapi/json` answers, to be read by people. A page for each operation and schema. */
export function referenceRoutes({ openapiPublic, publicUrl }: ReferencePorts): DashboardRoute[] {
  // The document never changes while the process runs.
  let described: Described | undefined;
  const page = (
    path: string,
    draw: (described: Described, visit: Visit) => Page,
    query: readonly string[] = [],
  ): DashboardRoute => ({
    method: 'get',
    path,
    roles: everyone,
    query,
    async handle(visit) {
      if (described === undefined) {
        const document = openapiDocument(openapiPublic) as OpenApiDocument;
        described = { document, outline: outlineOf(document) };
      }
      return { page: draw(described, visit) };
    },
  });
  return [
    page(
      '/reference',
      ({ document, outline }, { req }) =>
        referenceIndex(document, outline, addressOf(req, publicUrl), (textsOf(req).q ?? '').trim()),
      ['q'],
    ),
    page('/reference/operations/:operation', operationPage),
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

function operationPage({ document, outline }: Described, { req }: Visit): Page {
  const { operation: id } = req.params;
  const placed = operationsOf(document.paths).find(({ operation }) => operation.operationId === id);
  if (placed === undefined) throw new ServiceError('not_found', 'There is no such operation.');
  const { operationId, summary } = placed.operation;
  return referenceFrame(outline, operationId, summary, operationPart(placed));
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
