import type { FaultCode } from '../../domain/records/schema/faults.ts';
import type { FoundKey, KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import { onKind, scopeKinds } from '../../modules/auth/permissions.ts';
import { permissionsFor } from '../../modules/auth/scopes.ts';
import { MessageRecorder, type RawMessage } from '../../modules/integrations/apply.ts';
import type { FhirEntry } from '../../modules/integrations/fhir/bundle.ts';
import { isRefused } from '../../modules/integrations/fhir/interpreter.ts';
import { contextOf, typeOf } from '../../modules/integrations/fhir/resources/index.ts';
import {
  fieldPaths,
  type Issue,
  issueCodes,
  refused,
} from '../../modules/integrations/fhir/resources/issues.ts';
import {
  type EntryOutcome,
  MessageRefused,
  processedBy,
  sendMessage,
} from '../../modules/integrations/fhir/send.ts';
import type { MessageStore } from '../../modules/integrations/messages/store.ts';
import type { OperationResult } from '../../modules/integrations/operations.ts';
import { type Source, type SourceCache, sourceOf } from '../../modules/integrations/sources.ts';
import { type LineResult, TimeSlicer } from '../../modules/records/commands/batchOrder.ts';
import { type ErrorCode, ServiceError } from '../../platform/errors.ts';
import type { DocumentStore } from '../../storage/documentStore.ts';
import { requirePermission } from '../server/admission.ts';
import { type Answer, asServiceError, errorAnswer, logFailure } from '../server/answer.ts';
import { isUtf8Type, parseBody, readBody } from '../server/body.ts';
import type { ServedEndpoint } from '../server/dispatch.ts';
import { callerOf, type RequestContext } from '../server/requestContext.ts';
import { type BatchPorts, BatchTally, recordBatch, recordFields } from './batchRunner.ts';

/** Media type of FHIR in JSON (FHIR R4, 2.6.2). */
export const FHIR_JSON = 'application/fhir+json';

/** Maximum number of issues reported for a message that is refused as a whole. */
const MOST_ISSUES = 1000;

const faultCodes: Partial<Record<Issue['code'], FaultCode>> = {
  required: 'required',
  'not-found': 'reference_not_found',
  'too-long': 'wrong_length',
};

/** A refusal that says what is wrong in the message, element by element, as far as possible. */
export class FhirRefusal extends ServiceError {
  readonly issues: readonly Issue[];

  constructor(code: ErrorCode, issues: readonly Issue[]) {
    const reported = issues.slice(0, MOST_ISSUES);
    const details = reported.map(({ code: issueCode, expression, diagnostics }) => ({
      // Only an element's name, wherever in the message it stands.
      field: expression.replaceAll(/\[\d+\]/g, ''),
      message: diagnostics,
      ...(faultCodes[issueCode] && { code: faultCodes[issueCode] }),
    }));
    super(code, 'The message was refused.', { details });
    this.issues = reported;
  }
}

/** Returns an `OperationOutcome` (FHIR R4, 2.28) of these issues; of none it says that all is well. */
export function operationOutcome(issues: readonly Issue[]): object {
  const told = issues.map(({ severity, code, expression, diagnostics }) => ({
    ...{ severity, code, diagnostics },
    ...(expression !== '' && { expression: [expression] }),
  }));
  const fine = { severity: 'information', code: 'informational', diagnostics: 'All OK.' };
  return { resourceType: 'OperationOutcome', issue: told.length > 0 ? told : [fine] };
}

/** Returns the response to a failed request, as an `OperationOutcome`. */
export function refuseAsFhir(error: ServiceError, requestId: string): Answer {
  const { status, headers } = errorAnswer(error, requestId);
  const details = error.details ?? [{ field: '', message: error.message }];
  const issue = issueCodes[error.code] ?? 'exception';
  const issues =
    error instanceof FhirRefusal
      ? error.issues
      : details.map(({ field, message }) => refused(issue, '', `${field} ${message}`.trim()));
  return {
    ...(status !== undefined && { status }),
    ...(headers && { headers }),
    type: FHIR_JSON,
    body: operationOutcome(issues),
  };
}

export interface FhirPorts extends BatchPorts {
  documentStore: DocumentStore;
  sources: SourceCache;
  directory: Pick<KeyDirectory, 'known'>;
  messages: MessageStore;
}

/** A message as a request brings it. */
export interface Message {
  entries: readonly FhirEntry[];
  /** Nothing of it is written if anything would be refused. */
  isAtomic: boolean;
  /** The endpoint's route, for the log and the audit trail. */
  route: string;
  /** The errors with which those of its entries are refused that could not be read. */
  unread?: readonly unknown[];
  /** As it arrived. */
  bytes: readonly Buffer[];
  /** What is requested with a resource that was sent by itself. */
  request?: RawMessage['request'];
}

/** Resolves with the source of the key of a request. Rejects with `unavailable` and `unreadable`. */
export async function fhirSourceOf(
  { sources, directory }: Pick<FhirPorts, 'sources' | 'directory'>,
  context: RequestContext,
): Promise<Source> {
  const { key, workspace } = context.found as FoundKey;
  const sentWith = { keyId: key.id, known: directory.known };
  return sourceOf(await sources.of(workspace.id), 'fhir', sentWith);
}

/**
 * Carries out the message of a request, which `read` returns once it has arrived, as configured for the source of its
 * key; what leaves no event of its own is recorded in the audit trail. Rejects as `read` does, and with a
 * `FhirRefusal`, `overloaded`, `rate_limited` and `unavailable`. `isOne`: it is one resource, which does not count
 * among the batches under way.
 */
export async function processFhirMessage(
  ports: FhirPorts,
  context: RequestContext,
  read: () => Message | Promise<Message>,
  { isOne = false } = {},
): Promise<EntryOutcome[]> {
  const { batches } = ports;
  const { entries, isAtomic, route, unread = [], bytes, request } = await read();
  const leave = isOne ? undefined : await batches.enter(context);
  try {
    const found = context.found as FoundKey;
    const source = await fhirSourceOf(ports, context);
    const raw = {
      format: 'fhir',
      media_type: context.req.headers['content-type'] ?? FHIR_JSON,
      event: (isOne && typeOf(entries[0]?.resource)) || 'Bundle',
      ...{ bytes, ...(request && { request }) },
    } as const;
    const keeper = new MessageRecorder(ports.messages, callerOf(context), source, raw);
    const { caller } = keeper;
    const run = {
      ...{ caller, limiter: batches.lines, stopping: batches.stopping },
      authorize: (kind: string) => {
        context.requireAdmitted();
        requirePermission(found, onKind('write', kind));
      },
    };
    const mappingContext = contextOf(source, Date.now());
    const keep = keeper.save.bind(keeper);
    const outcomes = await sendMessage(ports, run, {
      entries,
      context: mappingContext,
      isAtomic,
      save: keep,
    }).catch(async (error) => {
      if (error instanceof MessageRefused) await keeper.processed(processedBy(error.outcomes, unread.length));
      throw error;
    });
    await keeper.processed(processedBy(outcomes, unread.length));
    const tally = new BatchTally(entries.length + unread.length, fhirFields);
    const slices = new TimeSlicer();
    const failures = new Map<string, ServiceError>();
    let line = 0;
    for (const error of unread) tally.count({ kind: null, id: null, error }, ++line);
    for (const outcome of outcomes) {
      if (slices.isOver) await slices.next();
      tallyOf(tally, outcome, ++line);
      if (!isFailed(outcome.result)) continue;
      const failure = asServiceError(outcome.result.error);
      failures.set(failure.code, failures.get(failure.code) ?? failure);
    }
    for (const failure of failures.values())
      logFailure(batches.logger, failure, { requestId: caller.requestId, route }, 'request');
    await recordBatch(ports, { caller, options: {}, route, ...(!isOne && { status: 200 }) }, tally);
    return outcomes;
  } catch (error) {
    throw error instanceof MessageRefused ? problemOf(error) : error;
  } finally {
    leave?.();
  }
}

/** Returns the refusal of a message of which nothing was written: with the code of the first thing that is wrong. */
function problemOf({ outcomes }: MessageRefused): FhirRefusal {
  const failed = outcomes.flatMap(({ result }) =>
    isFailed(result) ? [asServiceError(result.error).code] : [],
  );
  const isUnread = outcomes.some(({ interpreted }) => isRefused(interpreted));
  const issues = outcomes.flatMap((outcome) => outcome.issues.filter(({ severity }) => severity === 'error'));
  return new FhirRefusal(isUnread ? 'validation_failed' : (failed[0] ?? 'validation_failed'), issues);
}

export function isFailed(result: OperationResult | undefined): result is { error: unknown } {
  return result !== undefined && 'error' in result;
}

function tallyOf(tally: BatchTally, { interpreted, result }: EntryOutcome, line: number): void {
  const nothing = { kind: null, id: null };
  if (isRefused(interpreted)) {
    tally.count({ ...nothing, error: new FhirRefusal('validation_failed', interpreted.issues) }, line);
  } else if (isFailed(result)) tally.count({ ...nothing, error: result.error }, line);
  else if (result && 'version' in result) {
    const written = { ...result, isSkipped: result.outcome === 'unchanged' };
    tally.count({ ...nothing, written } satisfies LineResult, line);
  }
}

const paths = [
  ...Object.values(fieldPaths).flatMap((ofType) => Object.values(ofType ?? {})),
  ...Object.keys(fieldPaths).flatMap((type) => [`${type}.id`, `${type}.identifier`]),
  ...['Coverage.beneficiary', 'PractitionerRole.practitioner', 'DocumentReference.context.encounter'],
  ...['Resource.resourceType', 'Bundle.type', 'Bundle.entry.request.method', 'Bundle.entry.request.url'],
];

/** Returns an element with those that it is in, on its own and in a bundle. */
function withHolders(path: string): string[] {
  const names = path.split('.');
  const holders = names.slice(1).map((_, at) => names.slice(1, at + 2).join('.'));
  return holders.flatMap((holder) => [`${names[0]}.${holder}`, `Bundle.entry.resource.${holder}`]);
}

/** The elements whose names may appear in the audit trail. */
const elements: ReadonlySet<string> = new Set(['Bundle.entry.resource', ...paths.flatMap(withHolders)]);
const fhirFields: ReadonlySet<string> = new Set([...recordFields, ...elements]);

/**
 * An endpoint that takes resources, and refuses in FHIR's form. A key that may write only some kinds can send only
 * those.
 */
export function fhirEndpoint(
  route: string,
  handle: (context: RequestContext) => Promise<Answer>,
): ServedEndpoint {
  const permission = ['write', ...scopeKinds.flatMap((kind) => onKind('write', kind).slice(1))] as const;
  return {
    route,
    permission: [...permission] as ServedEndpoint['permission'],
    takesTokens: true,
    fields: elements,
    handle,
    refuse: refuseAsFhir,
  };
}

/**
 * Throws `permission_denied` when a key may write no record of resources of a type, or its access token was not issued for the type,
 * before anything of a resource is read; what is written is checked again, record by record.
 */
export function requireType({ found }: Pick<RequestContext, 'found'>, type: string | undefined): void {
  const permissions = permissionsFor('write', type);
  if (permissions.length === 0) return;
  requirePermission(found as FoundKey, permissions);
  requireScope({ found }, type);
}

/** Throws `permission_denied` when the access token of a request was not issued for resources of a type that become records. */
export function requireScope({ found }: Pick<RequestContext, 'found'>, type: string | undefined): void {
  const { writableTypes } = found as FoundKey;
  if (type === undefined || !writableTypes || writableTypes.has(type)) return;
  if (permissionsFor('write', type).length === 0) return;
  const text = `The access token has no scope for ${type} resources (system/${type}.write).`;
  throw new ServiceError('permission_denied', text);
}

/** 16 MB: a patient's entire history, with documents of a few pages. */
export const MAX_FHIR_BYTES = 16 * 1024 * 1024;
/** Values of a Bundle: of 16 MB of resources without attachments. */
const MAX_FHIR_VALUES = 500_000;

/** A body, as it arrived and as parsed. */
interface FhirBody {
  value: unknown;
  bytes: Buffer;
}

/**
 * Resolves with the JSON body of a FHIR request. Rejects as `readBody` does, and with `unsupported_media_type` for
 * XML and other types.
 */
export async function readFhir(context: RequestContext): Promise<FhirBody> {
  const type = context.req.headers['content-type'] ?? '';
  if (!isUtf8Type(type, FHIR_JSON) && !isUtf8Type(type, 'application/json')) {
    const text = `Send FHIR R4 in UTF-8 with Content-Type: ${FHIR_JSON}. XML is not supported.`;
    throw new ServiceError('unsupported_media_type', text);
  }
  const body = await readBody(context, MAX_FHIR_BYTES);
  return { value: parseBody(body, MAX_FHIR_VALUES), bytes: body.bytes };
}
