import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import { catalog } from '../../domain/records/catalog.ts';
import { validationError } from '../../domain/records/schema/validation.ts';
import type { FoundKey } from '../../modules/auth/keyDirectory.ts';
import { onKind } from '../../modules/auth/permissions.ts';
import type { WriteOptions } from '../../modules/records/commands/upsert.ts';
import { batchLineSchema, exampleAnswer, exampleLines } from '../schemas/batch.ts';
import { bytesSchema, endpoint } from '../schemas/endpoint.ts';
import { requirePermission } from '../server/admission.ts';
import { NDJSON } from '../server/answer.ts';
import { type IdempotencyPorts, idempotencyKey } from '../server/idempotency.ts';
import { ownersOf } from '../server/loadShedder.ts';
import { callerOf, type RequestContext } from '../server/requestContext.ts';
import { drained } from '../server/sse.ts';
import { readBatch } from './batchParser.ts';
import { type BatchPorts, beginTry, executeBatch, OrderedResults } from './batchRunner.ts';
import { writeOptions, writeQuerySchema } from './recordSchemas.ts';

/** A client that accepts nothing for this long is considered dead. */
const STALLED_MS = 30_000;

/** Sends the results of lines at the client's pace; resolves when all were handed over, or the client is gone. */
export async function sendResults(res: ServerResponse, results: AsyncIterable<string>): Promise<void> {
  const closed = new AbortController();
  res.once('close', () => closed.abort());
  for await (const text of results) {
    if (closed.signal.aborted || res.destroyed) return;
    if (res.write(text)) continue;
    const stalled = setTimeout(() => res.destroy(), STALLED_MS);
    await drained(res, closed.signal);
    clearTimeout(stalled);
  }
}

const path = '/integration/batch';
/** How long a client may take to read the results once all are there. */
const READ_WITHIN_MS = 300_000;

/** JSON Lines, which OpenAPI can only describe as text: each line matches `line`. */
export const linesSchema = (line: object) =>
  ({ type: 'string', contentMediaType: NDJSON, contentSchema: line }) as const;
/** Refers to a named schema. */
export const component = (name: string) => ({ $ref: `#/components/schemas/${name}` });
/** Returns JSON Lines. */
export const linesOf = (values: readonly object[]) =>
  values.map((value) => `${JSON.stringify(value)}\n`).join('');

/** `POST /integration/batch`. */
export const sendBatch = endpoint({
  method: 'post',
  path,
  operationId: 'sendBatch',
  summary: 'Create or update many records',
  description:
    'Stores many records of all kinds in one request: one line per record (`BatchLine`), in any order, up ' +
    'to 100,000 lines or 64 MB when decompressed, with lines of up to 1 MB. Referenced records may be in ' +
    'the same batch, before or after the record. Versions of one record are stored in the order of their ' +
    'lines.\n\nNothing is stored until all lines have arrived. The response then has one line ' +
    '(`BatchResult`) for each line that was sent, in the same order, with what its own request would have ' +
    'returned, and a final line (`BatchSummary`). A line with status 200 is durably stored; a refused ' +
    'line does not stop others. A response without a summary was cut off: send the batch again, which is ' +
    'safe.\n\nIf a batch is sent again with the same `Idempotency-Key`, lines that are already stored are ' +
    'answered and not written again, and processing continues with the rest: refused lines are retried, ' +
    'except those behind which a later line of the same record is stored, which get 409. With ' +
    '`dry_run=true`, each line is evaluated separately against what is stored now: several lines for one ' +
    'record do not see each other.\n\nA key that may write only certain kinds can send lines of those ' +
    'kinds; other lines are refused with 403. A batch counts as one request. Lines that exceed a ' +
    "workspace's limit per minute are refused with 429.",
  tag: 'Batches',
  permission: ['write', ...catalog.flatMap(({ kind }) => onKind('write', kind).slice(1))],
  // The batch itself is what its lines wait for.
  query: writeQuerySchema.omit({ wait: true }),
  takesIdempotencyKey: true,
  body: {
    required: true,
    content: {
      // Client generators take the first type: of this one they make typed lines.
      'application/json': {
        schema: z.array(batchLineSchema).meta({ description: 'A few lines, at most 1 MB in total' }),
        example: exampleLines,
      },
      [NDJSON]: { schema: linesSchema(component('BatchLine')), example: linesOf(exampleLines) },
    },
  },
  answers: {
    200: {
      description: 'The result of each line, and a summary.',
      stream: {
        [NDJSON]: {
          schema: {
            ...linesSchema({ anyOf: [component('BatchResult'), component('BatchSummary')] }),
            ...bytesSchema,
          },
          example: linesOf(exampleAnswer),
        },
      },
    },
  },
  errors: ['InvalidBatch', 'BatchTooLarge', 'NotLines'],
  handler: (ports: BatchPorts & IdempotencyPorts) => async (context) => {
    const options = batchOptions(context);
    const key = options.dryRun ? undefined : idempotencyKey(context.req);
    const share = ports.batches.bodies.share(ownersOf(context));
    let leave: (() => void) | undefined;
    try {
      const { lines, payload } = await readBatch(context, share);
      leave = await ports.batches.enter(context);
      const tries = await beginTry(ports, context, key, payload);
      const results = new OrderedResults(lines.length);
      const authorize = (kind: string) => {
        context.requireAdmitted();
        requirePermission(context.found as FoundKey, onKind('write', kind));
      };
      const caller = callerOf(context);
      const work = executeBatch(ports, { lines, caller, options, authorize, route: path, tries }, results);
      void work.then(leave);
      void whenRead(context, work).then(share.release);
      return {
        // Buffering proxies are asked to pass every result on at once.
        headers: { 'Content-Type': NDJSON, 'X-Accel-Buffering': 'no' },
        body: { send: (res) => sendResults(res, results.chunks()) },
      };
    } catch (error) {
      leave?.();
      share.release();
      throw error;
    }
  },
});

/** Returns what a request asks for all its lines. Throws `validation_failed`. */
function batchOptions(context: RequestContext): WriteOptions {
  const { condition, ...options } = writeOptions(context);
  if (condition === 'any') return options;
  throw validationError([
    { field: 'If-Match', message: 'is not supported for a batch; use if_match in its lines' },
  ]);
}

/** Resolves when the client has the response, or is gone; a client that does not read it in time is disconnected. */
async function whenRead({ res }: RequestContext, work: Promise<void>): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    if (res.closed || res.destroyed) resolve();
    else res.once('close', resolve);
  });
  await work;
  const late = setTimeout(() => res.destroy(), READ_WITHIN_MS);
  await closed;
  clearTimeout(late);
}
