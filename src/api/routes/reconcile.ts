import { z } from 'zod';
import { isJsonObject } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { catalog, catalogEntry } from '../../domain/records/catalog.ts';
import type { RecordFields } from '../../domain/records/schema/kind.ts';
import { validate, validationError } from '../../domain/records/schema/validation.ts';
import { type AccessRecorded, recordAccess, recordFurtherAccess } from '../../modules/audit/recordAccess.ts';
import type { FoundKey } from '../../modules/auth/keyDirectory.ts';
import { onKind } from '../../modules/auth/permissions.ts';
import type { BatchLine, LineSubject } from '../../modules/records/commands/batchOrder.ts';
import { rangesOf } from '../../modules/records/queries/paging.ts';
import {
  type Compared,
  type Copy,
  type ReconciledRows,
  Reconciliation,
} from '../../modules/records/queries/reconcile.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import { ServiceError } from '../../platform/errors.ts';
import { FairBudget, WORKSPACE_AND_KEY } from '../../platform/threads/fairBudget.ts';
import { bytesSchema, endpoint } from '../schemas/endpoint.ts';
import { notReconcileLines } from '../schemas/errors.ts';
import {
  exampleReconcileAnswer,
  exampleReconcileLines,
  reconcileLineSchema,
  reconcileQuerySchema,
} from '../schemas/reconcile.ts';
import { requirePermission } from '../server/admission.ts';
import { asServiceError, NDJSON, withLongBody } from '../server/answer.ts';
import { isUtf8Type } from '../server/body.ts';
import { ownersOf, reserveShare } from '../server/loadShedder.ts';
import { callerOf, type RequestContext } from '../server/requestContext.ts';
import { component, linesOf, linesSchema, sendResults } from './batch.ts';
import { arrivingLines } from './batchParser.ts';

/** Lines compared, and recorded in the audit trail, at a time. */
const GROUP_LINES = 1_000;
/** A group is smaller where its lines are long. */
const GROUP_BYTES = 1024 * 1024;
/** Finding what no line named takes eight bytes for each record. */
export const MAX_RECONCILE_LINES = 2_000_000;
/** How many run at a time in a request thread: each holds some megabytes. */
const MOST_AT_ONCE = 12;

const kinds: readonly string[] = catalog.map(({ kind }) => kind);

/** A line and what it is about; without a copy, why it is refused. */
type ReadLine = { line: number; kind: string | null; id: string | null } & (
  | { copy: Copy }
  | { refusal: ServiceError }
);

/** `POST /integration/reconcile`. */
export const reconcile = endpoint({
  method: 'post',
  path: '/integration/reconcile',
  operationId: 'reconcile',
  summary: 'Compare records with those of another system',
  description:
    'Compares records with what the caller knows of them, and writes nothing: one line (`ReconcileLine`) per record, with its version, ' +
    'the digest of its fields, or all of its fields, up to 2,000,000 lines of up to 1 MB each. The response has one line ' +
    '(`ReconcileResult`) for each, in the same order, and a final line (`ReconcileSummary`). A response without a summary was cut ' +
    'off: send the request again.\n\nThe digest is the SHA-256 of the canonical JSON (RFC 8785) of the fields as they were sent, ' +
    'merged, or as they are read, in either case without those that are `null`. A record sent whole is compared field by field; the ' +
    'response has the names of the fields that differ, not their values.\n\nWith `missing_there`, records of these kinds that no line ' +
    'names follow before the summary. With `same=omit`, the response has only what is not the same.\n\nThe comparison begins with ' +
    'the first lines: read the response while you send. A client that accepts nothing for 30 seconds is disconnected. A client that ' +
    'reads only after sending uses `same=omit` or requests of up to 10,000 lines.',
  tag: 'Batches',
  permission: ['read', ...catalog.flatMap(({ kind }) => onKind('read', kind).slice(1))],
  query: reconcileQuerySchema,
  body: {
    required: true,
    content: {
      [NDJSON]: { schema: linesSchema(component('ReconcileLine')), example: linesOf(exampleReconcileLines) },
    },
  },
  answers: {
    200: {
      description: 'What became of the comparison of each record, and a summary.',
      stream: {
        [NDJSON]: {
          schema: {
            ...linesSchema({ anyOf: [component('ReconcileResult'), component('ReconcileSummary')] }),
            ...bytesSchema,
          },
          example: linesOf(exampleReconcileAnswer),
        },
      },
    },
  },
  errors: ['NotReconcileLines'],
  handler: (ports: QueryPorts) => {
    const running = new FairBudget(MOST_AT_ONCE, WORKSPACE_AND_KEY);
    return async (context) => {
      const { same, missing_there } = validate(reconcileQuerySchema, context.req.query ?? {});
      const wanted = kindsIn(missing_there);
      for (const kind of wanted ?? []) requirePermission(context.found as FoundKey, onKind('read', kind));
      if (!isUtf8Type(context.req.headers['content-type'] ?? '', NDJSON)) throw notReconcileLines();
      const share = running.share(ownersOf(context));
      reserveShare(share, 1, 'reconciliations');
      if (context.res.destroyed) share.release();
      else context.res.once('close', share.release);
      const { workspace } = callerOf(context);
      const reconciliation = await Reconciliation.begin(ports, workspace, wanted ?? []);
      const lines = arrivingLines(context);
      const results = new Results(ports, context, reconciliation, same === 'omit', wanted);
      return {
        // Buffering proxies are asked to pass every result on immediately.
        headers: { 'Content-Type': NDJSON, 'X-Accel-Buffering': 'no' },
        body: {
          send: (res) => withLongBody(context.req, () => sendResults(res, results.chunks(lines))),
        },
      };
    };
  },
});

/** Returns the kinds in a query. Throws `validation_failed`. */
function kindsIn(text: string | undefined): string[] | undefined {
  if (text === undefined) return undefined;
  const named = [...new Set(text.split(','))];
  if (named.every((kind) => kinds.includes(kind))) return named;
  throw validationError([
    { field: 'missing_there', message: `must be one or more of ${kinds.join(', ')}, separated by commas` },
  ]);
}

const noCounts = {
  ...{ lines: 0, same: 0, different: 0, missing_here: 0, merged: 0, erased: 0, unreadable: 0, refused: 0 },
};

/** The response to a reconciliation, computed as it is sent. */
class Results {
  readonly #ports: QueryPorts;
  readonly #context: RequestContext;
  readonly #reconciliation: Reconciliation;
  readonly #omitsSame: boolean;
  readonly #wanted: readonly string[] | undefined;
  readonly #summary = { ...noCounts };
  #isRecorded = false;

  constructor(
    ports: QueryPorts,
    context: RequestContext,
    reconciliation: Reconciliation,
    omitsSame: boolean,
    wanted: readonly string[] | undefined,
  ) {
    this.#ports = ports;
    this.#context = context;
    this.#reconciliation = reconciliation;
    this.#omitsSame = omitsSame;
    this.#wanted = wanted;
  }

  /** Yields the lines of the response. Rejects when a store is away, and when the key may no longer read. */
  async *chunks(arriving: ReturnType<typeof arrivingLines>): AsyncGenerator<string> {
    let group: ReadLine[] = [];
    let bytes = 0;
    for await (const lines of arriving) {
      for (const line of lines) {
        group.push(this.#read(line));
        bytes += line.bytes?.length ?? 0;
        if (group.length < GROUP_LINES && bytes < GROUP_BYTES) continue;
        yield await this.#compared(group);
        group = [];
        bytes = 0;
      }
    }
    if (group.length > 0) yield await this.#compared(group);
    const isWhole = this.#summary.lines <= MAX_RECONCILE_LINES;
    let missing = 0;
    for (const kind of isWhole ? (this.#wanted ?? []) : []) {
      for await (const rows of inGroups(this.#reconciliation.missingThere(kind))) {
        missing += rows.length;
        await this.#record([entryOf(kind, { missing_there: rows.length }, rows)]);
        yield linesOf(
          rows.map(({ id, version }) => ({
            ...{ kind, id, outcome: 'missing_there' },
            ...(version !== undefined && { version }),
          })),
        );
      }
    }
    const found = this.#wanted && { missing_there: isWhole ? missing : null };
    yield linesOf([{ summary: { ...this.#summary, ...found } }]);
  }

  #read(line: BatchLine): ReadLine {
    this.#summary.lines += 1;
    let subject: LineSubject = { kind: null, id: null };
    try {
      if (this.#summary.lines > MAX_RECONCILE_LINES) throw tooManyLines();
      const value = line.read();
      subject = subjectOf(value);
      const copy = copyOf(value);
      requirePermission(this.#context.found as FoundKey, onKind('read', copy.kind));
      return { line: line.number, kind: copy.kind, id: copy.id, copy: validated(copy) };
    } catch (error) {
      return { line: line.number, ...subject, refusal: asServiceError(error) };
    }
  }

  /** Resolves with the results of a group, once the audit trail has them. */
  async #compared(group: readonly ReadLine[]): Promise<string> {
    this.#context.requireAdmitted();
    const { compared, rows } = await this.#reconciliation.compare(
      group.flatMap((line) => ('copy' in line ? [line.copy] : [])),
    );
    const outcomes = new Map<string | null, Record<string, number>>();
    const shown: object[] = [];
    let at = 0;
    for (const read of group) {
      const { line, kind, id } = read;
      const result = 'copy' in read ? (compared[at++] as Compared) : refused(read.refusal);
      const ofKind = outcomes.get(kind) ?? {};
      ofKind[result.outcome] = (ofKind[result.outcome] ?? 0) + 1;
      outcomes.set(kind, ofKind);
      this.#summary[result.outcome as keyof typeof noCounts] += 1;
      if (result.outcome !== 'same' || !this.#omitsSame) shown.push({ line, kind, id, ...result });
    }
    await this.#record([...outcomes].map(([kind, counts]) => entryOf(kind, counts, rows.get(kind ?? ''))));
    return linesOf(shown);
  }

  /** The first entry has the id of the request, the others their own. */
  async #record(entries: AccessRecorded[]): Promise<void> {
    const caller: Caller = callerOf(this.#context);
    const [first, ...others] = entries as [AccessRecorded, ...AccessRecorded[]];
    if (this.#isRecorded) {
      await Promise.all(entries.map((entry) => recordFurtherAccess(this.#ports.eventLog, caller, entry)));
    } else await recordAccess(this.#ports.eventLog, caller, first, ...others);
    this.#isRecorded = true;
  }
}

function entryOf(
  kind: string | null,
  query: Record<string, number>,
  rows: ReconciledRows = [],
): AccessRecorded {
  return {
    action: 'record.reconcile',
    ...(kind !== null && { kind }),
    query,
    ...(rows.length > 0 && { shown: { ranges: rangesOf(rows, true), count: rows.length } }),
  };
}

function refused({ code, message, details }: ServiceError) {
  return { outcome: 'refused' as const, error: message, code, ...(details && { details }) };
}

function tooManyLines(): ServiceError {
  return new ServiceError(
    'payload_too_large',
    `The request has more than ${MAX_RECONCILE_LINES.toLocaleString('en-US')} lines. Send the others in another request.`,
  );
}

/** Returns what a line is about, as far as it says that. */
function subjectOf(value: unknown): LineSubject {
  if (!isJsonObject(value)) return { kind: null, id: null };
  const { kind, id = isJsonObject(value.record) ? value.record.id : undefined } = value;
  return {
    kind: kinds.includes(kind as string) ? (kind as string) : null,
    id: idSchema.safeParse(id).success ? (id as string) : null,
  };
}

const idSchema = reconcileLineSchema.shape.id.unwrap();
/** Made once: making a schema costs many times what validating with it does. */
const namedSchema = z.object({ id: idSchema });

/** Returns what a line says, its record not yet validated. Throws `validation_failed`. */
function copyOf(value: unknown): Copy {
  if (!isJsonObject(value))
    throw new ServiceError('validation_failed', 'A line must be an object with a kind and an id.');
  const { id, record, digest, ...rest } = validate(reconcileLineSchema, value);
  const named = id ?? record?.id;
  if (named === undefined) throw validationError([{ field: 'id', message: 'is required' }]);
  if (record !== undefined && record.id !== undefined && record.id !== named)
    throw validationError([{ field: 'id', message: 'must match the id in the record' }]);
  return {
    ...rest,
    id: validate(namedSchema, { id: named }).id,
    digest: digest?.toLowerCase(),
    record: record && ({ ...record, id: named } as RecordFields),
  };
}

/** Throws `validation_failed`. */
function validated(copy: Copy): Copy {
  if (copy.record === undefined) return copy;
  return { ...copy, record: validate(catalogEntry(copy.kind).schema, copy.record) as RecordFields };
}

async function* inGroups<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item[]> {
  let group: Item[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < GROUP_LINES) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}
