import { Readable } from 'node:stream';
import type { FhirEntry } from '../../modules/integrations/fhir/FhirEntry.ts';
import { isRefused } from '../../modules/integrations/fhir/Interpreter.ts';
import { issuesOf } from '../../modules/integrations/fhir/resources/issue.ts';
import { MOST_ELEMENTS } from '../../modules/integrations/fhir/resources/mapResource.ts';
import type { EntryOutcome } from '../../modules/integrations/fhir/sendMessage.ts';
import type { BatchLine } from '../../modules/records/commands/batchLine.ts';
import { WorkSlices } from '../../modules/records/commands/WorkSlices.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { BudgetShare } from '../../platform/threads/FairBudget.ts';
import { NDJSON } from '../server/answer.ts';
import { ownersOf } from '../server/BodyBudget.ts';
import { asServiceError, statusOf } from '../server/errorAnswer.ts';
import type { Exchange } from '../server/exchange.ts';
import { isUtf8Type } from '../server/readJson.ts';
import type { ServedEndpoint } from '../server/serveEndpoint.ts';
import { carryMessage, type FhirPorts, isFailed } from './carryMessage.ts';
import { operationOutcome } from './fhirAnswer.ts';
import { fhirEndpoint, requireType } from './fhirEndpoint.ts';
import { readLines } from './readBatch.ts';
import { MAX_FHIR_BYTES } from './readFhir.ts';

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
export function importLines(ports: FhirPorts): ServedEndpoint {
  const route = '/fhir/$import';
  return fhirEndpoint(route, async (exchange) => {
    let lines: ReadLine[] = [];
    const share = ports.batches.bodies.share(ownersOf(exchange));
    const outcomes = await carryMessage(ports, exchange, async () => {
      lines = await readResources(exchange, share);
      const entries = lines.flatMap((line) => ('entry' in line ? [line.entry] : []));
      const unread = lines.flatMap((line) => ('error' in line ? [line.error] : []));
      const bytes = lines.flatMap((line) => (line.bytes && isKept(line) ? [line.bytes, NEWLINE] : []));
      return { entries, isAtomic: false, route, unread, bytes };
    }).finally(share.giveAll);
    const text = Readable.from(answerText(lines, outcomes));
    return { headers: { 'Content-Type': NDJSON }, body: { stream: text } };
  });
}

/** Rejects as `readLines` does, and with `unsupported_media_type`. */
async function readResources(exchange: Exchange, share: BudgetShare): Promise<ReadLine[]> {
  const type = exchange.req.headers['content-type'] ?? '';
  if (!types.some((taken) => isUtf8Type(type, taken))) {
    const text = `Send Bulk Data in UTF-8, one resource per line, with Content-Type: ${types[0]}.`;
    throw new ServiceError('unsupported_media_type', text);
  }
  const slices = new WorkSlices();
  const reader = new LineReader();
  const read: ReadLine[] = [];
  for (const line of (await readLines(exchange, share, lineLimits)).lines) {
    if (slices.isOver) await slices.next();
    read.push(readLine(line, reader, exchange));
  }
  return read;
}

function readLine(line: BatchLine, reader: LineReader, exchange: Exchange): ReadLine {
  const { number, bytes } = line;
  try {
    requireType(exchange, BEGINNING.exec(bytes?.toString('latin1', 0, BEGINNING_BYTES) ?? '')?.[1]);
    reader.read(line);
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
function isKept(line: ReadLine): boolean {
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
  const slices = new WorkSlices();
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
interface ToldLine {
  counts: 'created' | 'updated' | 'unchanged' | 'left_out' | 'refused';
  told?: { status: number; outcome: object; retryAfter?: number };
}

function unreadLine(error: unknown): ToldLine {
  const outcome = operationOutcome(issuesOf('Resource', { error }));
  return { counts: 'refused', told: { status: statusOf[asServiceError(error).code], outcome } };
}

function lineOf({ interpreted, issues, result }: EntryOutcome): ToldLine {
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
