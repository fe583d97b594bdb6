import { z } from 'zod';
import { parseJson } from '../../lib/httpFailure.ts';
import { zippedLines } from './BatchSender.ts';
import type { Row } from './chunks.ts';
import { type Answer, type ImportClient, refusedSchema } from './ImportClient.ts';
import type { SourceRecord } from './importSource.ts';
import { outcomeSchema, refusalIn, remarksIn } from './outcome.ts';
import type { BatchAnswer, OutcomeCounts, RowResult, RowSender } from './RowSender.ts';
import { refusedBatch, wholeAnswer } from './wholeAnswer.ts';

const toldSchema = z.object({
  line: z.int(),
  status: z.int(),
  outcome: outcomeSchema,
  retryAfter: z.number().optional(),
});
const summarySchema = z.object({
  summary: z.object({ created: z.int(), updated: z.int(), unchanged: z.int() }),
});
const bundleAnswerSchema = z.object({
  resourceType: z.literal('Bundle'),
  entry: z.array(z.object({ response: z.object({ status: z.string(), outcome: outcomeSchema.optional() }) })),
});

/** The result of a row, whose index gives its number. */
type Result = Omit<RowResult, 'line'>;

const accepted: Result = { status: 200, warnings: [], error: '', retryable: false };
const noCounts: OutcomeCounts = { created: 0, updated: 0, unchanged: 0 };

/**
 * Sends resources through `POST /fhir/$import`, and Bundles, one by one, through `POST /fhir`: unchanged records get no new
 * version.
 */
export class FhirSender implements RowSender {
  readonly #client: ImportClient;

  constructor(client: ImportClient) {
    this.#client = client;
  }

  lineOf({ record }: SourceRecord): string {
    return `${JSON.stringify(record)}\n`;
  }

  async send(rows: readonly Row[]): Promise<BatchAnswer> {
    const results = new Map<Row, Result>();
    const resources = rows.filter(({ item }) => item.kind !== 'Bundle');
    const counts = resources.length > 0 ? await this.#sendResources(resources, results) : noCounts;
    for (const row of rows) if (!results.has(row)) results.set(row, await this.#sendBundle(row));
    return {
      results: rows.map((row, index) => ({ line: index + 1, ...(results.get(row) as Result) })),
      counts,
      isRepeat: false,
    };
  }

  async #sendResources(rows: readonly Row[], results: Map<Row, Result>): Promise<OutcomeCounts> {
    const body = await zippedLines(rows);
    const headers = { 'content-type': 'application/fhir+ndjson', 'content-encoding': 'gzip' };
    const sending = { path: '/fhir/$import', headers, body: () => body };
    const { told, counts } = await wholeAnswer(this.#client, sending, (answer) => this.#read(answer));
    for (const row of rows) results.set(row, accepted);
    for (const { line, status, outcome, retryAfter } of told) {
      const row = rows[line - 1];
      if (row) results.set(row, resultOf(status, outcome, retryAfter));
    }
    return counts;
  }

  /** Parses the response to lines; undefined if it was cut off. Throws `ImportError`. */
  #read(answer: Answer): { told: z.infer<typeof toldSchema>[]; counts: OutcomeCounts } | undefined {
    const { status, text } = answer;
    if (status !== 200) throw refusedBatch(this.#client, answer);
    const lines = text.split('\n').map(parseJson);
    const told: z.infer<typeof toldSchema>[] = [];
    for (const line of lines) {
      const { data: end } = summarySchema.safeParse(line);
      if (end) return { told, counts: end.summary };
      if (line === undefined) return undefined;
      const { data } = toldSchema.safeParse(line);
      if (data === undefined) throw this.#client.stranger(status);
      told.push(data);
    }
    return undefined;
  }

  /** A Bundle counts as refused if any entry is. */
  async #sendBundle(row: Row): Promise<Result> {
    const body = await zippedLines([row]);
    const headers = { 'content-type': 'application/fhir+json', 'content-encoding': 'gzip' };
    const sending = { path: '/fhir', headers, body: () => body };
    return wholeAnswer(this.#client, sending, ({ status, text }) => {
      const value = parseJson(text);
      if (value === undefined) return undefined;
      const { data: answered } = bundleAnswerSchema.safeParse(value);
      if (status === 200 && answered) return bundleResult(answered);
      const { data: refused } = refusedSchema.safeParse(value);
      if (refused === undefined) throw this.#client.stranger(status);
      return { ...accepted, status, ...refused, retryable: isRetryable(status) };
    });
  }
}

function resultOf(
  status: number,
  outcome: z.infer<typeof outcomeSchema>,
  retryAfter: number | undefined,
): Result {
  if (status < 400) return { ...accepted, warnings: remarksIn(outcome) };
  return { ...accepted, ...refusalIn(outcome), status, retryable: isRetryable(status), retryAfter };
}

function bundleResult({ entry }: z.infer<typeof bundleAnswerSchema>): Result {
  const results = entry.map(({ response: { status, outcome } }) => ({
    status: Number.parseInt(status, 10),
    outcome,
  }));
  const refused = results.filter(({ status }) => status >= 400);
  const first = refused.find(({ status }) => isRetryable(status)) ?? refused[0];
  if (first === undefined) {
    const remarks = results.flatMap(({ outcome }) => (outcome ? remarksIn(outcome) : []));
    // The same warning for many entries is counted as one.
    const warnings = remarks.map((one) => ({ ...one, field: one.field.replaceAll(/\[\d+\]/g, '') }));
    return { ...accepted, warnings };
  }
  const details = refused.flatMap(({ outcome }) => (outcome ? refusalIn(outcome).details : []));
  const error = `${refused.length} of its ${entry.length} entries were refused.`;
  return { ...accepted, status: first.status, error, details, retryable: isRetryable(first.status) };
}

/** Whether it may be accepted later. */
function isRetryable(status: number): boolean {
  return status === 429 || status === 503;
}
