import { randomBytes } from 'node:crypto';
import { appendFile, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { parseJson } from '../../../domain/events/event.ts';
import { readAssertionKey } from '../../../modules/auth/signAssertion.ts';
import { terminal } from '../../../server/terminal.ts';
import { addServiceOptions, requireKey, requireUrl, type ServiceOptions } from '../../lib/client.ts';
import { ofFile } from '../../lib/files.ts';
import { parseInstant } from '../../lib/options.ts';
import {
  CommandError,
  counted,
  example,
  fail,
  untilInterrupted,
  writeJson,
  writeLine,
} from '../../lib/terminal.ts';
import { recordImportedFile } from '../import/client.ts';
import { importFile } from '../import/command.ts';
import { Emr } from './emr.ts';
import {
  download,
  linesOf,
  listExport,
  ownFolder,
  type Pulling,
  pulledTypes,
  searchChanges,
} from './files.ts';
import { type PulledFile, type PullRun, PullState } from './state.ts';

interface PullOptions extends ServiceOptions {
  fhir: URL;
  clientId: string;
  clientKey: string;
  clientKeyId?: string;
  tokenUrl?: string;
  scope: string;
  group?: string;
  search?: boolean;
  types: string[];
  since?: string;
  folder: string;
  json?: boolean;
}

/** Where records go, and with what. */
interface Target {
  url: URL;
  key: string;
}

/** `https://…`; plain HTTP only to this machine. */
function parseFhirUrl(text: string): URL {
  const url = URL.parse(text);
  const isLocal = url?.protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
  if (url && (url.protocol === 'https:' || isLocal) && !url.search && !url.hash) return url;
  throw new InvalidArgumentError('Specify an address such as https://emr.example/fhir/r4.');
}

function parseTypes(text: string): string[] {
  const types = text.split(',').map((type) => type.trim());
  if (types.every((type) => pulledTypes.includes(type))) return types;
  throw new InvalidArgumentError(`Specify one or more of ${pulledTypes.join(', ')}, separated by commas.`);
}

/** `chartledger pull fhir` */
async function pullFhir(options: PullOptions, command: Command): Promise<void> {
  const { fhir, group, search = false, types, folder } = options;
  if ((group === undefined) !== search) command.error('error: specify either --group or --search');
  const target = { url: requireUrl(command, options.url), key: await requireKey(command, options.keyFile) };
  const text = await ofFile(options.clientKey, () => readFile(options.clientKey, 'utf8'));
  const read = await readAssertionKey(text);
  const key = { ...read, keyId: options.clientKeyId ?? read.keyId };
  const { clientId, scope, tokenUrl } = options;
  await ownFolder(folder);
  const state = PullState.open(join(folder, 'pull.state.json'), fhir.href);
  await untilInterrupted(async (signal) => {
    const emr = new Emr({ fhir, clientId, key, scope, tokenUrl }, signal);
    const pulling = { emr, state, folder, types };
    const request = group === undefined ? `search ${types.join(',')}` : `group ${group} ${types.join(',')}`;
    const run = resumeOrBegin(state, request, options.since);
    const listed =
      run.files !== undefined
        ? run
        : group === undefined
          ? await searchChanges(pulling, run)
          : await listExport(pulling, run, group);
    report(await completeRun(pulling, listed, target, signal), pulling, options.json === true);
  });
}

/** Returns the run that was not completed, or a new one that begins where the last one ended. Throws `CommandError`. */
function resumeOrBegin(state: PullState, request: string, since: string | undefined): PullRun {
  const { run } = state;
  if (run !== undefined && run.request === request) {
    terminal().stderr.write('Going on with the pull that was not completed.\n');
    return run;
  }
  if (run !== undefined) {
    throw new CommandError(
      `The folder holds a pull of something else that is not completed (${run.request}). Complete it first, or use another --folder.`,
    );
  }
  const from = since ?? state.pulledUpTo(request);
  const id = `${new Date().toISOString().replace(/\.\d+|[-:]/g, '')}-${randomBytes(3).toString('hex')}`;
  return state.save({ id, request, accepted: 0, rejected: 0, ...(from !== undefined && { since: from }) });
}

/** Downloads, imports and removes each file of a run; what was done before a kill is not done again. */
async function completeRun(
  pulling: Pulling,
  listed: PullRun,
  target: Target,
  signal: AbortSignal,
): Promise<PullRun> {
  const { state, folder, emr } = pulling;
  let run = listed;
  const replace = (file: PulledFile, counts = { accepted: 0, rejected: 0 }) => {
    run = state.save({
      ...run,
      files: (run.files ?? []).map((one) => (one.name === file.name ? file : one)),
      accepted: run.accepted + counts.accepted,
      rejected: run.rejected + counts.rejected,
    });
  };
  for (const file of run.files ?? [])
    if (file.state === 'listed') replace(await download(pulling, run, file));
  for (const file of run.files ?? []) {
    if (file.state !== 'downloaded') continue;
    const counts = await takeFile(pulling, run, file, target, signal);
    replace({ ...file, state: 'imported' }, counts);
    await rm(join(folder, `${file.name}.ndjson`), { force: true });
  }
  // The EMR may remove its files now; an export that it has forgotten is no problem.
  if (run.statusUrl !== undefined)
    await emr.request(run.statusUrl, { method: 'DELETE' }).catch(() => undefined);
  signal.throwIfAborted();
  const { transactionTime, ...begun } = run;
  state.complete(isNothing(run) ? begun : run);
  return run;
}

/** Whether everything was asked for, and nothing came: after that, changes alone would lack all that there was before. */
function isNothing({ since, accepted, rejected }: PullRun): boolean {
  return since === undefined && accepted + rejected === 0;
}

/** Imports a file of resources, and records it in the audit trail; of other files, returns the number of their lines as rejected. */
async function takeFile(
  { folder }: Pulling,
  { id, statusUrl }: PullRun,
  { name, kind, type, sha256 }: PulledFile,
  { url, key }: Target,
  signal: AbortSignal,
): Promise<{ accepted: number; rejected: number }> {
  const path = join(folder, `${name}.ndjson`);
  if (kind === 'deleted')
    return { accepted: 0, rejected: await noteDeletions(path, join(folder, `deleted-${id}.ndjson`)) };
  if (kind === 'errors')
    return { accepted: 0, rejected: await noteErrors(path, join(folder, `errors-${id}.ndjson`)) };
  if (!pulledTypes.includes(type)) return { accepted: 0, rejected: 0 };
  const counts = await importFile(
    path,
    {
      ...{ url, key, format: 'fhir' },
      rejectFile: join(folder, `rejected-${name}.ndjson`),
      warningFile: join(folder, `warnings-${name}.ndjson`),
      stateFile: join(folder, `import-${name}.state.json`),
    },
    signal,
  );
  const { accepted, rejected } = counts;
  const origin = statusUrl === undefined ? 'search' : 'bulk_export';
  const file = { sha256: String(sha256), format: 'fhir', origin, accepted, rejected } as const;
  await recordImportedFile({ url, key }, file, name, signal);
  return { accepted, rejected };
}

/** What an export says was deleted: transactions of DELETE (FHIR Bulk Data Access 2, 3.5.6.4). */
const deletionsSchema = z.object({
  resourceType: z.literal('Bundle'),
  entry: z.array(z.object({ request: z.object({ method: z.literal('DELETE'), url: z.string() }) })),
});

/** Lists what was deleted in the EMR; nothing is erased or voided by it. */
async function noteDeletions(path: string, listPath: string): Promise<number> {
  const found: string[] = [];
  for await (const line of linesOf(path)) {
    const bundle = deletionsSchema.safeParse(parseJson(line));
    if (bundle.success)
      found.push(...bundle.data.entry.map(({ request }) => `${JSON.stringify({ deleted: request.url })}\n`));
  }
  await appendFile(listPath, found.join(''), { mode: 0o600 });
  return 0;
}

async function noteErrors(path: string, listPath: string): Promise<number> {
  const lines: string[] = [];
  for await (const line of linesOf(path)) if (line.trim() !== '') lines.push(`${line}\n`);
  await appendFile(listPath, lines.join(''), { mode: 0o600 });
  return lines.length;
}

function report(run: PullRun, { folder }: Pulling, isJson: boolean): void {
  const { accepted, rejected, since = null, transactionTime: until = null } = run;
  const files = run.files ?? [];
  const deletions = files.filter(({ kind }) => kind === 'deleted').length;
  const summary = { accepted, rejected, files: files.length, files_of_deletions: deletions, since, until };
  if (isJson) writeJson(summary);
  else {
    writeLine(
      `${accepted} accepted, ${rejected} rejected, from ${counted(files.length, 'file')}; changes up to ${until}`,
    );
    if (deletions > 0)
      writeLine(
        `What was deleted in the EMR is listed in ${folder}/deleted-${run.id}.ndjson. Nothing was deleted here.`,
      );
  }
  if (isNothing(run))
    fail(
      'The EMR returned nothing, although everything was requested. Check the group, the types and the scopes; the next pull requests everything again.',
    );
  if (rejected > 0)
    fail(
      `What was rejected, and why, is in ${folder}/rejected-${run.id}-….ndjson and errors-${run.id}.ndjson.`,
    );
}

/** `chartledger pull …` */
export function addPullCommands(pull: Command): void {
  const command = pull
    .command('fhir')
    .description(
      'Read what changed in an EMR since the last pull through its FHIR interface (SMART Backend Services), as a Bulk Data export of a ' +
        'group or by searches, and import it. Run an interrupted pull again to resume where it stopped.',
    )
    .requiredOption('--fhir <url>', "the address of the EMR's FHIR R4 interface", parseFhirUrl)
    .requiredOption('--client-id <id>', 'the id under which the EMR registered this client')
    .requiredOption(
      '--client-key <file>',
      'the private key of the client: JWK or PEM, RSA (RS384) or P-384 (ES384)',
    )
    .option(
      '--client-key-id <id>',
      'the key id (kid) under which the EMR knows the public key (default: the one in the JWK)',
    )
    .option('--token-url <url>', 'the token endpoint of the EMR (default: as its SMART configuration says)')
    .option('--scope <scopes>', 'the scopes to ask for, separated by spaces', 'system/*.rs')
    .option('--group <id>', 'export the patients of this group (Group/ID/$export)')
    .option('--search', 'search for changes by _lastUpdated, type by type')
    .addOption(
      new Option('--types <list>', 'the types of resources to pull')
        .argParser(parseTypes)
        .default(pulledTypes, pulledTypes.join(',')),
    )
    .option(
      '--since <time>',
      'changes from this time on (default: the time of the last complete pull; none: everything)',
      parseInstant,
    )
    .requiredOption(
      '--folder <folder>',
      'the folder for downloaded files, reports and the progress; one for each EMR',
    );
  addServiceOptions(command, 'write')
    .option('--json', 'print the counts as JSON')
    .addHelpText(
      'after',
      example(
        'export CHARTLEDGER_API_KEY=clk_…',
        'chartledger pull fhir --fhir https://emr.example/fhir/r4 --client-id billing --client-key client.jwk.json --group billing --folder pulled',
      ),
    )
    .action(pullFhir);
}
