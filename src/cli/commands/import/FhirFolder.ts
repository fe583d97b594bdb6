import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isJsonObject, type JsonObject } from '../../../domain/events/event.ts';
import { terminal } from '../../../server/terminal.ts';
import { parseJson } from '../../lib/httpFailure.ts';
import type { Fingerprint } from './fingerprint.ts';
import { ImportError, type ImportSource, type SourceRecord, type UnreadableEntry } from './importSource.ts';
import { isUtf8, readLines } from './readLines.ts';

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
  else yield resource.kind === 'Bundle' ? resource : { ...resource, kind: `${resource.kind} (no Bundle)` };
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
