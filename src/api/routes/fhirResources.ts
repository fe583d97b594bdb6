import { STATUS_CODES } from 'node:http';
import { Readable } from 'node:stream';
import { type FhirEntry, readBundle, versionOf } from '../../modules/integrations/fhir/bundle.ts';
import { isRefused } from '../../modules/integrations/fhir/interpreter.ts';
import { MOST_ELEMENTS, resourceTypes, typeOf } from '../../modules/integrations/fhir/resources/index.ts';
import { issuesOf, refused } from '../../modules/integrations/fhir/resources/issues.ts';
import type { EntryOutcome } from '../../modules/integrations/fhir/send.ts';
import { type BatchLine, TimeSlicer } from '../../modules/records/commands/batchOrder.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { BudgetShare } from '../../platform/threads/fairBudget.ts';
import { version } from '../../platform/version.ts';
import { type Answer, asServiceError, NDJSON, statusOf } from '../server/answer.ts';
import { isUtf8Type } from '../server/body.ts';
import type { Route, ServedEndpoint } from '../server/dispatch.ts';
import { ownersOf } from '../server/loadShedder.ts';
import type { RequestContext } from '../server/requestContext.ts';
import { readLines } from './batchParser.ts';
import {
  FHIR_JSON,
  type FhirPorts,
  FhirRefusal,
  fhirEndpoint,
  fhirSourceOf,
  isFailed,
  MAX_FHIR_BYTES,
  type Message,
  operationOutcome,
  processFhirMessage,
  readFhir,
  refuseAsFhir,
  requireScope,
  requireType,
} from './fhir.ts';

const lineLimits = { bytes: MAX_FHIR_BYTES, values: MOST_ELEMENTS };

/** Media types of Bulk Data (FHIR Bulk Data Access 2.0), the registered one first. */
const types = ['application/fhir+ndjson', 'application/ndjson', NDJSON];
/** Characters of a response handed over at once. */
const CHUNK = 64 * 1024;
const NEWLINE = Buffer.from('\n');
/** Where most resources say what they are: their type is then known without parsing them. */
const BEGINNING = /^\s*\{\s*"resourceType"\s*:\s*"([A-Za-z]+)"/;
const BEGINNING_BYTES = 120;

/** Parses lines whenever their content is asked for: of all lines together, what is parsed would take several times their bytes. */
class LineReader {
  #last: { line: BatchLine; resource: unknown } | undefined;

  read(line: BatchLine): unknown {
    if (this.#last?.line !== line) this.#last = { line, resource: line.read() };
    return this.#last.resource;
  }
}

/** A line as read: a resource, or why it is not one. */
type ReadLine = Pick<BatchLine, 'number' | 'bytes'> & ({ entry: FhirEntry } | { error: unknown });

/** `POST /fhir/$import`: the lines are one message, in which each has an outcome of its own. */
function importLines(ports: FhirPorts): ServedEndpoint {
  const route = '/fhir/$import';
  return fhirEndpoint(route, async (context) => {
    let lines: ReadLine[] = [];
    const share = ports.batches.bodies.share(ownersOf(context));
    const outcomes = await processFhirMessage(ports, context, async () => {
      lines = await readResources(context, share);
      const entries = lines.flatMap((line) => ('entry' in line ? [line.entry] : []));
      const unread = lines.flatMap((line) => ('error' in line ? [line.error] : []));
      const bytes = lines.flatMap((line) => (line.bytes && isStored(line) ? [line.bytes, NEWLINE] : []));
      return { entries, isAtomic: false, route, unread, bytes };
    }).finally(share.release);
    const text = Readable.from(answerText(lines, outcomes));
    return { headers: { 'Content-Type': NDJSON }, body: { stream: text } };
  });
}

/** Rejects as `readLines` does, and with `unsupported_media_type`. */
async function readResources(context: RequestContext, share: BudgetShare): Promise<ReadLine[]> {
  const type = context.req.headers['content-type'] ?? '';
  if (!types.some((taken) => isUtf8Type(type, taken))) {
    const text = `Send Bulk Data in UTF-8, one resource per line, with Content-Type: ${types[0]}.`;
    throw new ServiceError('unsupported_media_type', text);
  }
  const slices = new TimeSlicer();
  const reader = new LineReader();
  const read: ReadLine[] = [];
  for (const line of (await readLines(context, share, lineLimits)).lines) {
    if (slices.isOver) await slices.next();
    read.push(readLine(line, reader, context));
  }
  return read;
}

function readLine(line: BatchLine, reader: LineReader, context: RequestContext): ReadLine {
  const { number, bytes } = line;
  try {
    requireType(context, BEGINNING.exec(bytes?.toString('latin1', 0, BEGINNING_BYTES) ?? '')?.[1]);
    requireScope(context, typeOf(reader.read(line)));
    const entry = {
      at: '',
      get resource() {
        return reader.read(line);
      },
    };
    return { number, bytes, entry };
  } catch (error) {
    return { number, bytes, error };
  }
}

/** Whether a line belongs to the message as it is kept: for one that was not read, nobody would know whom it is about. */
function isStored(line: ReadLine): boolean {
  return 'entry' in line || asServiceError(line.error).code === 'malformed_body';
}

/**
 * Yields the lines that have something to report, and the summary. `outcomes`: those of the lines that were read, in
 * order.
 */
async function* answerText(
  lines: readonly ReadLine[],
  outcomes: readonly EntryOutcome[],
): AsyncGenerator<string> {
  const slices = new TimeSlicer();
  const summary = { lines: lines.length, created: 0, updated: 0, unchanged: 0, left_out: 0, refused: 0 };
  let text = '';
  let next = 0;
  for (const line of lines) {
    if (slices.isOver) await slices.next();
    const { counts, told } =
      'error' in line ? unreadLine(line.error) : lineOf(outcomes[next++] as EntryOutcome);
    summary[counts] += 1;
    if (told) text += `${JSON.stringify({ line: line.number, ...told })}\n`;
    if (text.length < CHUNK) continue;
    yield text;
    text = '';
  }
  yield `${text}${JSON.stringify({ summary })}\n`;
}

/** How a line counts, and what is reported about it. */
interface LineReport {
  counts: 'created' | 'updated' | 'unchanged' | 'left_out' | 'refused';
  told?: { status: number; outcome: object; retryAfter?: number };
}

function unreadLine(error: unknown): LineReport {
  const outcome = operationOutcome(issuesOf('Resource', { error }));
  return { counts: 'refused', told: { status: statusOf[asServiceError(error).code], outcome } };
}

function lineOf({ interpreted, issues, result }: EntryOutcome): LineReport {
  const outcome = operationOutcome(issues);
  if (isRefused(interpreted)) return { counts: 'refused', told: { status: 400, outcome } };
  if (isFailed(result)) {
    const { code, retryAfterSeconds: retryAfter } = asServiceError(result.error);
    const told = { status: statusOf[code], outcome, ...(retryAfter !== undefined && { retryAfter }) };
    return { counts: 'refused', told };
  }
  return {
    counts: result?.outcome ?? 'left_out',
    ...(issues.length > 0 && { told: { status: 200, outcome } }),
  };
}

const SECURITY_SERVICES = 'http://terminology.hl7.org/CodeSystem/restful-security-service';
const startedAt = new Date().toISOString();

/** `GET /fhir/metadata` (FHIR R4, 3.1.0.12): what this interface accepts, and how. */
function readCapabilities(): ServedEndpoint {
  const body = capabilityStatement();
  return {
    ...{ route: '/fhir/metadata', permission: 'public', query: 'ignored', refuse: refuseAsFhir },
    handle: async () => ({ type: FHIR_JSON, body }),
  };
}

function capabilityStatement(): object {
  return {
    resourceType: 'CapabilityStatement',
    status: 'active',
    date: startedAt,
    kind: 'instance',
    software: { name: 'Chartledger', version },
    implementation: { description: 'Accepts what claims are based on, and keeps every version' },
    fhirVersion: '4.0.1',
    format: ['application/fhir+json'],
    rest: [
      {
        mode: 'server',
        documentation:
          'Resources become records: Patient, Practitioner, Location, Organization (a payer or a ' +
          'facility, depending on its type), Encounter and DocumentReference become one record each; ' +
          'Coverage and the coverage inside ExplanationOfBenefit become insurances of the patient; ' +
          'PractitionerRole adds data about the provider. Resources of other types in a Bundle are left ' +
          'out, which is stated in their entry. A resource that changes nothing creates no new ' +
          'version.\n\nIn a transaction, everything is validated and resolved before anything is written, ' +
          'and any refusal refuses the whole transaction. It is not a transaction of the store: if a ' +
          'store is lost midway, the response is 503, and sending the same Bundle again completes it. ' +
          'If the source accepts them, Bundles of the types searchset, collection, history and message are processed as a batch ' +
          'of their resources.',
        security: {
          service: [{ coding: [{ system: SECURITY_SERVICES, code: 'SMART-on-FHIR' }] }],
          description:
            'An API key with write permission, as `x-api-key` or as a bearer token; or an access token from ' +
            'SMART Backend Services, as `.well-known/smart-configuration` describes.',
        },
        resource: resourceTypes.map((type) => ({
          type,
          interaction: [{ code: 'create' }, { code: 'update' }],
          updateCreate: true,
          conditionalCreate: true,
          conditionalUpdate: false,
          referencePolicy: ['literal', 'logical', 'resolves', 'local'],
        })),
        interaction: [{ code: 'transaction' }, { code: 'batch' }],
        operation: [
          {
            name: 'import',
            definition: 'https://hl7.org/fhir/uv/bulkdata/OperationDefinition/import',
            documentation:
              'POST /fhir/$import with Bulk Data as the body: NDJSON, one resource per line, in any ' +
              'order, as application/fhir+ndjson. The response is NDJSON: the lines that were refused or ' +
              'have remarks, each with its number and an OperationOutcome, and a summary at the end.',
          },
        ],
      },
    ],
  };
}

/** `POST /fhir` (FHIR R4, 3.1.0.11). */
function sendBundle(ports: FhirPorts): ServedEndpoint {
  const route = '/fhir';
  return fhirEndpoint(route, async (context): Promise<Answer> => {
    const { value, bytes } = await readFhir(context);
    const bundle = readBundle(value);
    if ('issue' in bundle) throw new FhirRefusal('validation_failed', [bundle.issue]);
    const { type, isContent, read } = bundle;
    if (isContent && (await fhirSourceOf(ports, context)).bundles !== 'any') {
      const text =
        'The source accepts only bundles of the types batch and transaction (sources set --bundles any).';
      throw new FhirRefusal('validation_failed', [refused('not-supported', 'Bundle.type', text)]);
    }
    const unread = read.flatMap((one, index) => ('issue' in one ? [[index, one.issue] as const] : []));
    const isAtomic = type === 'transaction';
    if (isAtomic && unread.length > 0) {
      throw new FhirRefusal(
        'validation_failed',
        unread.map(([, issue]) => issue),
      );
    }
    const entries = read.flatMap((one) => ('issue' in one ? [] : [one]));
    for (const { resource } of entries) requireScope(context, typeOf(resource));
    const outcomes = await processFhirMessage(ports, context, () => ({
      entries,
      isAtomic,
      route,
      bytes: [bytes],
    }));
    const byEntry = new Map(outcomes.map((outcome) => [outcome.interpreted.entry, outcome]));
    return {
      type: FHIR_JSON,
      body: {
        resourceType: 'Bundle',
        type: `${type}-response`,
        entry: read.map((one) => ({
          response:
            'issue' in one
              ? {
                  status: statusText(one.issue.severity === 'error' ? 400 : 200),
                  outcome: operationOutcome([one.issue]),
                }
              : responseTo(byEntry.get(one) as EntryOutcome),
        })),
      },
    };
  });
}

function responseTo(outcome: EntryOutcome): object {
  const { interpreted, issues, result } = outcome;
  const told = issues.length > 0 && { outcome: operationOutcome(issues) };
  if (isRefused(interpreted)) return { status: statusText(400), ...told };
  if (isFailed(result)) return { status: statusText(statusOf[asServiceError(result.error).code]), ...told };
  if (result === undefined || !('version' in result)) return { status: statusText(200), ...told };
  const { outcome: came, version } = result;
  return {
    status: statusText(came === 'created' ? 201 : 200),
    location: `${locationOf(outcome)}/_history/${version}`,
    etag: `W/"${version}"`,
    ...told,
  };
}

/** Returns the relative address of a resource whose record was written. */
function locationOf({ interpreted: { identity } }: EntryOutcome): string {
  return `${identity.type}/${encodeURIComponent(identity.recordId ?? identity.resourceId ?? '')}`;
}

function statusText(status: number): string {
  return `${status} ${STATUS_CODES[status]}`;
}

/** `POST /fhir/{Type}` (FHIR R4, 3.1.0.8): its record is identified by the resource's own id or identifier. */
function createResource(ports: FhirPorts): ServedEndpoint {
  return resourceEndpoint(ports, '/fhir/:type', ({ req }) => {
    const query = req.get('if-none-exist');
    return { query, ifAbsent: query !== undefined };
  });
}

/** `PUT /fhir/{Type}/{id}` (FHIR R4, 3.1.0.7). */
function updateResource(ports: FhirPorts): ServedEndpoint {
  return resourceEndpoint(ports, '/fhir/:type/:id', ({ req }) => {
    const ifMatch = versionOf(req.get('if-match'));
    if (ifMatch === 'invalid') {
      throw new FhirRefusal('validation_failed', [
        refused('invalid', '', 'Send If-Match in the form W/"3".'),
      ]);
    }
    return { id: String(req.params.id), ifMatch };
  });
}

function resourceEndpoint(
  ports: FhirPorts,
  route: string,
  ask: (context: RequestContext) => Partial<FhirEntry>,
): ServedEndpoint {
  return fhirEndpoint(route, async (context) => {
    const { type } = context.req.params;
    if (!resourceTypes.includes(String(type))) {
      throw new ServiceError(
        'not_found',
        `Resources of this type are not supported. The supported types are ${resourceTypes.join(', ')}.`,
      );
    }
    requireType(context, String(type));
    const asked = ask(context);
    const { value: resource, bytes } = await readFhir(context);
    if (typeOf(resource) !== type) {
      const text = 'It must match the type in the address that the resource is sent to.';
      throw new FhirRefusal('validation_failed', [refused('invalid', 'Resource.resourceType', text)]);
    }
    const entries = [{ at: '', resource, ...asked }];
    const message = () => ({
      ...{ entries, isAtomic: true, route, bytes: [bytes] },
      request: requestOf(asked),
    });
    const [outcome] = await processFhirMessage(ports, context, message, { isOne: true });
    return answerOf(outcome as EntryOutcome);
  });
}

/** Returns it in the form kept with the message. */
function requestOf({ id, query, ifAbsent, ifMatch }: Partial<FhirEntry>): Message['request'] {
  return {
    ...(id !== undefined && { id }),
    ...(query !== undefined && { query }),
    ...(ifAbsent && { if_absent: true }),
    ...(ifMatch !== undefined && { if_match: ifMatch }),
  };
}

function answerOf(outcome: EntryOutcome): Answer {
  const { issues, result } = outcome;
  const body = operationOutcome(issues);
  if (result === undefined || !('version' in result)) return { type: FHIR_JSON, body };
  return {
    status: result.outcome === 'created' ? 201 : 200,
    headers: {
      Location: `/fhir/${locationOf(outcome)}/_history/${result.version}`,
      ETag: `W/"${result.version}"`,
    },
    ...{ type: FHIR_JSON, body },
  };
}

/** FHIR R4: described by its CapabilityStatement, with responses in FHIR's own forms. */
export function fhirRoutes(ports: FhirPorts): Route[] {
  return [
    { method: 'get', endpoint: readCapabilities() },
    { method: 'post', endpoint: sendBundle(ports) },
    // Before resources, whose type it would otherwise be taken for.
    { method: 'post', endpoint: importLines(ports) },
    { method: 'post', endpoint: createResource(ports) },
    { method: 'put', endpoint: updateResource(ports) },
  ];
}
