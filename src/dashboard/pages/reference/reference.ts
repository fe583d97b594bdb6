import { openapiDocument } from '../../../api/routes/index.ts';
import { addressOf } from '../../../api/server/addressOf.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { type Html, type HtmlValue, html } from '../../components/html.ts';
import { textsOf } from '../../components/recordQuery.ts';
import type { DashboardRoute, Page, Visit } from '../../components/route.ts';
import { type OpenApiDocument, operationsOf, type PlacedOperation } from './document.ts';
import { messageHeaders, messageSection, operationPart, responseSection } from './operationParts.ts';
import { type Group, outlineOf } from './outline.ts';
import { referenceFrame } from './referenceFrame.ts';
import { referenceIndex } from './referenceIndex.ts';
import { schemaPart } from './schemas.ts';
import { TryIt, type TryItPorts } from './TryIt.ts';

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
  return referenceFrame(outline, operationId, summary, body);
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
