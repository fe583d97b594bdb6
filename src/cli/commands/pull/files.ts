import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { isJsonObject, parseJson } from '../../../domain/events/event.ts';
import { terminal } from '../../../server/terminal.ts';
import { CommandError } from '../../lib/terminal.ts';
import type { Emr } from './emr.ts';
import type { PulledFile, PullRun, PullState } from './state.ts';

/** Resource types that records are made of, in the order in which they refer to each other. */
export const pulledTypes = [
  ...['Organization', 'Location', 'Practitioner', 'PractitionerRole', 'Patient', 'Coverage'],
  ...['ExplanationOfBenefit', 'Encounter', 'DocumentReference'],
];

/** Those without a reference to a patient that some servers (HAPI) refuse to export with a group. */
const withoutPatients = ['Location', 'PractitionerRole'];

const OWNER_ONLY = 0o600;

const outputSchema = z.object({ type: z.string(), url: z.url() });
/** The response to a completed export (FHIR Bulk Data Access 2, 3.5.6.4). */
const manifestSchema = z.object({
  transactionTime: z.iso.datetime({ offset: true }),
  requiresAccessToken: z.boolean(),
  output: z.array(outputSchema),
  deleted: z.array(outputSchema).default([]),
  error: z.array(outputSchema).default([]),
});

/** The parts of a Bundle of search results (FHIR R4, 3.1.1.4) that are used. */
const searchsetSchema = z.object({
  resourceType: z.literal('Bundle'),
  type: z.literal('searchset'),
  link: z.array(z.object({ relation: z.string(), url: z.string() })).default([]),
  entry: z
    .array(z.object({ resource: z.unknown(), search: z.object({ mode: z.string() }).optional() }))
    .default([]),
});

/** How a run gets its files: each step is saved, and not done again after a kill. */
export interface Pulling {
  emr: Emr;
  state: PullState;
  folder: string;
  types: readonly string[];
}

/** Begins an export of a group, or goes on with it; returns the run with its files. Rejects as `Emr.request` does. */
export async function listExport(
  { emr, state, types }: Pulling,
  run: PullRun,
  group: string,
): Promise<PullRun> {
  let current = run;
  if (current.statusUrl === undefined) {
    const start = (of: readonly string[]) => {
      const query = { _type: of.join(','), _outputFormat: 'application/fhir+ndjson', _since: current.since };
      const address = emr.address(`Group/${encodeURIComponent(group)}/$export`, query);
      return emr.request(address, { headers: { prefer: 'respond-async' } });
    };
    const started = await start(types).catch((error) => {
      const fewer = types.filter((type) => !withoutPatients.includes(type));
      const isRefused = error instanceof CommandError && error.message.includes('(400)');
      if (!isRefused || fewer.length === types.length || fewer.length === 0) throw error;
      terminal().stderr.write(
        `The EMR refused the request (400). Requesting it without ${withoutPatients.join(' and ')}.\n`,
      );
      return start(fewer);
    });
    const place = started.headers.get('content-location');
    if (started.status !== 202 || place === null || !emr.isOwn(place)) {
      throw new CommandError(
        'The EMR did not begin an export: its response has no Content-Location at the EMR.',
      );
    }
    current = state.save({ ...current, statusUrl: place });
  }
  const status = await finished(emr, String(current.statusUrl)).catch((error) => {
    // The EMR has forgotten the export; the next run begins another one.
    if (error instanceof CommandError && /\((?:404|410)\)/.test(error.message)) {
      const { statusUrl: _gone, ...rest } = current;
      state.save(rest);
    }
    throw error;
  });
  const manifest = manifestSchema.safeParse(parseJson(await status.text()));
  if (!manifest.success)
    throw new CommandError('The EMR answered an export with something that is not its list of files.');
  const { transactionTime, requiresAccessToken, output, deleted, error } = manifest.data;
  const named = (files: typeof output, kind: PulledFile['kind']) => files.map((file) => ({ ...file, kind }));
  const all = [...named(output, 'resources'), ...named(deleted, 'deleted'), ...named(error, 'errors')];
  const files = all.map(({ type, url, kind }, index): PulledFile => {
    return { name: `${run.id}-${index + 1}`, type, kind, url, state: 'listed' };
  });
  return state.save({ ...current, withToken: requiresAccessToken, transactionTime, files: arranged(files) });
}

/** Files of resources in the order in which these refer to each other. */
function arranged(files: readonly PulledFile[]): PulledFile[] {
  return files.toSorted((one, other) => rankOf(one) - rankOf(other));
}

function rankOf({ type, kind }: PulledFile): number {
  const rank = pulledTypes.indexOf(type);
  return kind === 'resources' && rank >= 0 ? rank : pulledTypes.length;
}

async function finished(emr: Emr, statusUrl: string): Promise<Response> {
  for (;;) {
    const response = await emr.request(statusUrl, { headers: { accept: 'application/json' } });
    if (response.status !== 202) return response;
    await emr.waitFor(response);
  }
}

/** How far before the time of a search the next one begins: an EMR may show a change some seconds after its time. */
const OVERLAP_MS = 120_000;

/** Searches each type for changes, into one file a type; returns the run with its files. Rejects as `Emr.request` does. */
export async function searchChanges({ emr, state, folder, types }: Pulling, run: PullRun): Promise<PullRun> {
  let time = Number.POSITIVE_INFINITY;
  const files: PulledFile[] = [];
  for (const [index, type] of pulledTypes.filter((one) => types.includes(one)).entries()) {
    const name = `${run.id}-${index + 1}`;
    const lines = async function* () {
      const since = run.since === undefined ? undefined : `ge${run.since}`;
      for (let next: string | undefined = emr.address(type, { _lastUpdated: since, _count: '500' }); next; ) {
        const response: Response = await emr.request(next);
        time = Math.min(time, Date.parse(response.headers.get('date') ?? '') || Date.now());
        const page = searchsetSchema.safeParse(parseJson(await response.text()));
        if (!page.success)
          throw new CommandError(
            `The EMR answered a search for ${type} with something that is not its result.`,
          );
        for (const { resource, search } of page.data.entry) {
          if (isJsonObject(resource) && resource.resourceType === type && search?.mode !== 'outcome')
            yield `${JSON.stringify(resource)}\n`;
        }
        next = page.data.link.find(({ relation }) => relation === 'next')?.url;
        if (next !== undefined && !emr.isOwn(next))
          throw new CommandError('A page of a search refers to another server.');
      }
    };
    const sha256 = await writeFile(join(folder, `${name}.ndjson`), Readable.from(lines()));
    files.push({ name, type, kind: 'resources', sha256, state: 'downloaded' });
  }
  const transactionTime = new Date(Math.min(time, Date.now()) - OVERLAP_MS).toISOString();
  return state.save({ ...run, transactionTime, files });
}

/** Downloads a file of an export; returns it with its hash. Rejects as `Emr.request` does. */
export async function download(
  { emr, folder }: Pulling,
  { withToken = true }: PullRun,
  file: PulledFile,
): Promise<PulledFile> {
  const response = await emr.request(String(file.url), {
    withToken,
    headers: { accept: 'application/fhir+ndjson' },
  });
  const body = response.body ? Readable.fromWeb(response.body as never) : Readable.from([]);
  const sha256 = await writeFile(join(folder, `${file.name}.ndjson`), body);
  return { ...file, sha256, state: 'downloaded' };
}

/** Writes a file as a whole, readable by its owner only; returns its SHA-256. */
async function writeFile(path: string, source: Readable): Promise<string> {
  const digest = createHash('sha256');
  const draft = `${path}.part`;
  const file = await open(draft, 'w', OWNER_ONLY);
  try {
    await pipeline(
      source,
      async function* (chunks: AsyncIterable<Buffer | string>) {
        for await (const chunk of chunks) {
          digest.update(chunk);
          yield chunk;
        }
      },
      file.createWriteStream({ flush: true }),
    );
  } catch (error) {
    await rm(draft, { force: true });
    throw brokenOff(path, error);
  }
  await rename(draft, path);
  return digest.digest('hex');
}

function brokenOff(path: string, error: unknown): unknown {
  const { code, syscall, name } = error as NodeJS.ErrnoException;
  if (error instanceof CommandError || name === 'AbortError') return error;
  if (syscall === 'write' || syscall === 'open')
    return new CommandError(`${path} cannot be written (${code}).`);
  return new CommandError('A file of the EMR broke off. Run the command again: it resumes where it stopped.');
}

/** Creates the folder, accessible only to its owner: what is pulled is PHI. Rejects with `CommandError`. */
export async function ownFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error) => {
    throw new CommandError(`The folder ${folder} cannot be created (${error.code}).`);
  });
}

/** Yields the lines of a file. */
export async function* linesOf(path: string): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of createReadStream(path, 'utf8')) {
    const lines = `${rest}${chunk}`.split('\n');
    rest = lines.pop() as string;
    yield* lines;
  }
  if (rest !== '') yield rest;
}
