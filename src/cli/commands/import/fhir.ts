import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { isJsonObject, type JsonObject, parseJson } from '../../../domain/events/event.ts';
import { asBatch } from '../../../modules/integrations/fhir/bundle.ts';
import { terminal } from '../../../server/terminal.ts';
import {
  type Answer,
  type ImportClient,
  outcomeSchema,
  refusalIn,
  refusedBatch,
  refusedSchema,
  remarksIn,
  wholeAnswer,
} from './client.ts';
import { zippedLines } from './send.ts';
import {
  type Fingerprint,
  ImportError,
  type ImportSource,
  isUtf8,
  type Row,
  readLines,
  type SourceRecord,
  type UnreadableEntry,
} from './source.ts';
import type { BatchAnswer, OutcomeCounts, RowResult, RowSender } from './state.ts';

/** Resource types in the order in which they refer to each other; Bundles contain what they refer to. */
const order = [
  ...['Organization', 'Location', 'Practitioner', 'PractitionerRole', 'Patient', 'Coverage'],
  ...['ExplanationOfBenefit', 'Encounter', 'DocumentReference', 'Bundle'],
];
/** Maximum size that the service accepts for one resource or Bundle, in bytes. */
const MAX_BYTES = 16 * 1024 * 1024;
const LINES = /\.ndjson(?:\.gz)?$/;
/** Files that imports leave in the folder where they are started, which may be this one. */
const OWN = /^(?:(?:rejected|warnings)-\d{8}T\d{6}Z\.ndjson|import-[0-9a-f]{8}\.state\.json)$/;

/**
 * A folder, or a single file, of FHIR R4: Bulk Data (`Patient.ndjson`, `Patient.000.ndjson.gz`) and Bundles (`*.json`). A
 * resource's type is the one in its line, whatever the file name. Types that do not result in records are skipped.
 */
export class FhirFolder implements ImportSource {
  readonly kinds = order;
  readonly #folder: string;
  readonly #paths: readonly string[];
  /** NDJSON files by the types found in them. */
  readonly #byType = new Map<string, Set<string>>();
  /** Files of Bundles, in sending order. */
  #bundles: readonly string[] = [];

  private constructor(folder: string, paths: readonly string[]) {
    this.#folder = folder;
    this.#paths = paths;
  }

  /** Examines the input. Rejects with `ImportError` when there is nothing. */
  static async open(path: string): Promise<FhirFolder> {
    const paths = await filesAt(path);
    if (paths.length === 0)
      throw new ImportError(`${path} contains no *.ndjson, *.ndjson.gz or *.json files.`);
    return new FhirFolder(path, paths);
  }

  async fingerprint(): Promise<Fingerprint> {
    const digest = createHash('sha256');
    for (const path of this.#paths) {
      const { size, mtimeMs } = await stat(path).catch((error) => unreadable(path, error));
      digest.update(JSON.stringify([basename(path), size, mtimeMs]));
    }
    return { [this.#folder]: digest.digest('hex') };
  }

  async survey(
    onUnreadable: (entry: UnreadableEntry) => void,
    stop: AbortSignal,
  ): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    const count = (type: string) => counts.set(type, (counts.get(type) ?? 0) + 1);
    const bundles: { path: string; rank: number }[] = [];
    for (const path of this.#paths) {
      if (stop.aborted) break;
      for await (const entry of LINES.test(path) ? linesIn(path) : bundleIn(path)) {
        if (stop.aborted) break;
        if ('error' in entry) {
          onUnreadable(entry);
          continue;
        }
        count(entry.kind);
        if (!LINES.test(path)) bundles.push({ path, rank: rankOf(entry.record) });
        else this.#byType.set(entry.kind, (this.#byType.get(entry.kind) ?? new Set()).add(path));
      }
    }
    // Hospitals and practitioners come in separate Bundles, to which those of patients refer.
    this.#bundles = bundles.toSorted((a, b) => a.rank - b.rank).map(({ path }) => path);
    const others = [...counts].filter(([type]) => !order.includes(type));
    const told = others.map(([type, number]) => `${number} ${type}`).join(', ');
    if (told !== '') terminal().stderr.write(`Passed over, as no records are made of them: ${told}.\n`);
    return new Map([...counts].filter(([type]) => order.includes(type)));
  }

  async *records(kind: string): AsyncGenerator<SourceRecord> {
    const paths = kind === 'Bundle' ? this.#bundles : (this.#byType.get(kind) ?? []);
    for (const path of paths) {
      for await (const entry of kind === 'Bundle' ? bundleIn(path) : linesIn(path)) {
        if ('kind' in entry && entry.kind === kind) yield entry;
      }
    }
  }
}

async function filesAt(path: string): Promise<string[]> {
  const found = await stat(path).catch((error) => unreadable(path, error));
  if (!found.isDirectory()) return [path];
  const names = await readdir(path).catch((error) => unreadable(path, error));
  const taken = names.filter(
    (name) => (LINES.test(name) || name.endsWith('.json')) && !name.startsWith('.') && !OWN.test(name),
  );
  return taken.toSorted().map((name) => join(path, name));
}

async function* linesIn(path: string): AsyncGenerator<SourceRecord | UnreadableEntry> {
  for await (const { number, text } of readLines(path, MAX_BYTES)) {
    const source = `${basename(path)}:${number}`;
    if (text.trim() === '') continue;
    if (!isUtf8(text)) yield { source, error: 'The line is not UTF-8 text. Convert the file to UTF-8.' };
    else yield resourceIn(text, source) ?? { source, error: 'The line is not a FHIR resource in JSON.' };
  }
}

/** Yields the contents of a file that is one resource; besides NDJSON, only Bundles are sent. */
async function* bundleIn(path: string): AsyncGenerator<SourceRecord | UnreadableEntry> {
  const source = basename(path);
  const { size } = await stat(path).catch((error) => unreadable(path, error));
  if (size > MAX_BYTES) {
    yield {
      source,
      error:
        'The file is larger than the 16 MB that the service accepts. Split its Bundle into several files.',
    };
    return;
  }
  const text = await readFile(path, 'utf8').catch((error) => unreadable(path, error));
  const resource = resourceIn(text, source);
  if (resource === undefined) yield { source, error: 'The file is not a FHIR resource in JSON.' };
  else if (resource.kind === 'Bundle') yield { ...resource, record: asBatch(resource.record) };
  else yield { ...resource, kind: `${resource.kind} (no Bundle)` };
}

function resourceIn(text: string, source: string): SourceRecord | undefined {
  const value = parseJson(text);
  if (!isJsonObject(value) || typeof value.resourceType !== 'string') return undefined;
  return { kind: value.resourceType, source, record: value };
}

/** Returns how far down the order the resources of a Bundle go. */
function rankOf({ entry }: JsonObject): number {
  const entries = Array.isArray(entry) ? entry : [];
  const types = entries.map((one) => (isJsonObject(one) && isJsonObject(one.resource) ? one.resource : {}));
  return Math.max(0, ...types.map(({ resourceType }) => order.indexOf(String(resourceType))));
}

function unreadable(path: string, error: unknown): never {
  const { code } = error as { code?: string };
  throw new ImportError(`${path} cannot be read (${code ?? 'unknown reason'}).`);
}

const lineResultSchema = z.object({
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
  #read(answer: Answer): { told: z.infer<typeof lineResultSchema>[]; counts: OutcomeCounts } | undefined {
    const { status, text } = answer;
    if (status !== 200) throw refusedBatch(this.#client, answer);
    const lines = text.split('\n').map(parseJson);
    const told: z.infer<typeof lineResultSchema>[] = [];
    for (const line of lines) {
      const { data: end } = summarySchema.safeParse(line);
      if (end) return { told, counts: end.summary };
      if (line === undefined) return undefined;
      const { data } = lineResultSchema.safeParse(line);
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
