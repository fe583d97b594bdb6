import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { isJsonObject } from '../../domain/events/event.ts';
import type { BatchLine } from '../../modules/records/commands/batchLine.ts';
import type { BudgetShare } from '../../platform/threads/FairBudget.ts';
import { batchTooLarge, notAnArray, notLines } from '../schemas/errorResponses.ts';
import { NDJSON } from '../server/answer.ts';
import { takeFrom } from '../server/BodyBudget.ts';
import type { Exchange } from '../server/exchange.ts';
import { isCompressed, isUtf8Type, malformedBody, readJson, UNZIPPED_AT_A_TIME } from '../server/readJson.ts';
import { BROKEN_OFF, inviteBody, letOthersIn } from '../server/requestBody.ts';
import { type LineLimits, LineSplitter, MAX_BATCH_BYTES } from './LineSplitter.ts';

/** Values of a batch that is an array: of 1 MB of records. */
const MAX_ARRAY_VALUES = 100_000;

/** A batch as sent. */
export interface ReadBatch {
  lines: BatchLine[];
  /** A JSON value that is equal for equal lines. */
  payload: unknown;
}

type BodyExchange = Pick<Exchange, 'req' | 'res' | 'bodies' | 'load' | 'found'>;

/**
 * Resolves with the lines of a batch, once all have arrived: from JSON Lines, or from an array no larger than any
 * other JSON body; `share` holds the bytes of JSON Lines. Rejects with `unsupported_media_type`, `payload_too_large`, `malformed_body`, `validation_failed`,
 * `request_timeout` or `overloaded`.
 */
export async function readBatch(exchange: BodyExchange, share: BudgetShare): Promise<ReadBatch> {
  const type = exchange.req.headers['content-type'] ?? '';
  if (isUtf8Type(type, 'application/json'))
    return linesOf(await readJson(exchange, 'application/json', MAX_ARRAY_VALUES));
  if (!isUtf8Type(type, NDJSON)) throw notLines();
  return readLines(exchange, share);
}

function linesOf(array: unknown): ReadBatch {
  if (!Array.isArray(array)) throw notAnArray();
  const lines = array.map((value: unknown, index) => {
    const kind = isJsonObject(value) ? value.kind : undefined;
    return {
      number: index + 1,
      seemingKind: typeof kind === 'string' ? kind : undefined,
      read: () => value,
    };
  });
  return { lines, payload: array };
}

/**
 * Resolves with the lines of a JSON Lines body, each within `limits`; from then on the request counts among those being
 * worked on. `share` takes the unpacked bytes, which the caller gives back. Rejects with `unsupported_media_type` for an unknown
 * compression, `payload_too_large`, `malformed_body`, `request_timeout` and `overloaded`.
 */
export async function readLines(
  exchange: BodyExchange,
  share: BudgetShare,
  limits?: LineLimits,
): Promise<ReadBatch> {
  const { req, res, load } = exchange;
  const compressed = isCompressed(req);
  if (Number(req.headers['content-length'] ?? 0) > MAX_BATCH_BYTES) throw batchTooLarge();
  inviteBody(req, res);
  return new Promise((resolve, reject) => {
    const lines = new LineSplitter(limits);
    const digest = createHash('sha256');
    const unzip = compressed ? createGunzip({ chunkSize: UNZIPPED_AT_A_TIME }) : undefined;
    const source: Readable = unzip ?? req;
    let received = 0;
    const fail = (error: unknown) => {
      req.removeAllListeners('data');
      source.removeAllListeners('data');
      if (unzip) req.unpipe(unzip);
      unzip?.destroy();
      reject(error);
    };
    const trying = (work: () => void) => {
      try {
        work();
      } catch (error) {
        fail(error);
      }
    };
    source.on('data', (chunk: Buffer) => {
      digest.update(chunk);
      trying(() => {
        lines.add(chunk);
        takeFrom(share, chunk.length);
      });
    });
    letOthersIn(source);
    source.on('end', () =>
      trying(() => {
        load.enter(exchange);
        resolve({ lines: lines.end(), payload: { sha256: digest.digest('hex') } });
      }),
    );
    unzip?.on('error', () => fail(malformedBody('is not valid gzip')));
    req.on('error', () => fail(malformedBody('broke off')));
    req.on(BROKEN_OFF, fail);
    if (unzip === undefined) return;
    // A body that decompresses to nothing cannot be bounded by its output.
    req.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received > MAX_BATCH_BYTES) fail(batchTooLarge());
    });
    req.pipe(unzip);
  });
}
