import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { MAX_EVENT_BYTES } from '../../domain/events/event.ts';
import { INSTALLATION } from '../../domain/events/streams.ts';
import { treeRoot } from '../../domain/merkle.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { NOTICES } from '../../modules/erasure/notices.ts';
import {
  certificateProblem,
  certifiedErasures,
  type ErasureCertificate,
  parseCertificate,
} from '../../modules/integrity/erasureCertificate.ts';
import { type ExportFilters, manifestSchema, writeWhole } from '../../modules/integrity/exportArchive.ts';
import { type Proof, parseProof, proofProblem } from '../../modules/integrity/proofs.ts';
import {
  keysOfLog,
  PublicKeys,
  publicKeysOf,
  signTreeHead,
  type TreeHead,
  treeHeadSchema,
} from '../../modules/integrity/publicKeys.ts';
import {
  type DocumentProblem,
  type Verified,
  verifiedTexts,
  verifyDocuments,
  verifyWorkspace,
} from '../../modules/integrity/verify.ts';
import { verifyExport } from '../../modules/integrity/verifyExport.ts';
import {
  type RowDifference,
  type VerifiedModel,
  verifyReadModels,
  verifyWorklist,
} from '../../modules/integrity/verifyReadModels.ts';
import { mismatchTexts } from '../../modules/projections/checkpoints.ts';
import { ServiceError } from '../../platform/errors.ts';
import {
  loadSigningKey,
  ownSigningKey,
  type WorkspaceTools,
  withDocumentStore,
  withEventLog,
  withKeys,
  withLogToVerify,
  withReadModels,
  withTemporaryModels,
} from '../../server/stores.ts';
import { terminal } from '../../server/terminal.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { ofFile } from '../lib/files.ts';
import { createLogProgress } from '../lib/progress.ts';
import { count, counted, example, fail, untilInterrupted, writeLine } from '../lib/terminal.ts';
import { erasureLines } from './erase.ts';

/** Reads the keys for checking signatures from a public key file (PEM). Rejects with `validation_failed` or `conflict`. */
export const readPublicKeys = (path: string): Promise<PublicKeys> =>
  ofFile(path, async () => PublicKeys.parse(await readFile(path, 'utf8')));

/**
 * Returns the keys for checking heads: the key in the file, otherwise the service's own, and the rotations recorded in the log.
 * Rejects as `readPublicKeys` and `loadSigningKey` do.
 */
export async function checkingKeys(eventLog: EventLog, path: string | undefined): Promise<PublicKeys> {
  if (path === undefined) return publicKeysOf(await loadSigningKey(eventLog));
  const given = await readPublicKeys(path);
  return (await keysOfLog(eventLog, given)).publicKeys ?? given;
}

/**
 * Reads the tree head in a file, which may be an export's manifest, signed with a key valid at its time; of one workspace, if
 * given. Rejects with `validation_failed` or `conflict`.
 */
export async function readHead(path: string, publicKeys: PublicKeys, workspace?: string): Promise<TreeHead> {
  const text = await ofFile(path, () => readFile(path, 'utf8'));
  const head = parseHead(text);
  const problem = head ? publicKeys.problem(head) : 'it is neither a tree head nor the manifest of an export';
  if (head === undefined || problem) {
    throw new ServiceError('validation_failed', `${path} is not valid: ${problem}.`);
  }
  if (workspace === undefined || head.workspace === workspace) return head;
  throw new ServiceError('validation_failed', `${path} belongs to the workspace ${head.workspace}.`);
}

/**
 * Reads the heads of a workspace in the files `*.json` of a folder that are not notices of erasures, signed with keys valid at
 * their times. Rejects with `validation_failed` at the first invalid one, or when there are none; with `conflict` when one cannot
 * be read.
 */
async function readHeads(folder: string, publicKeys: PublicKeys, workspace: string): Promise<TreeHead[]> {
  const names = await ofFile(folder, () => readdir(folder));
  const heads: TreeHead[] = [];
  const isHead = (name: string) => name.endsWith('.json') && !name.startsWith(NOTICES);
  for (const name of names.filter(isHead).toSorted()) {
    const head = await readHead(join(folder, name), publicKeys);
    if (head.workspace === workspace) heads.push(head);
  }
  if (heads.length > 0) return heads;
  throw new ServiceError(
    'validation_failed',
    `${folder} does not contain a head of the workspace ${workspace}.`,
  );
}

function parseHead(text: string): TreeHead | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return manifestSchema.safeParse(value).data?.tree_head ?? treeHeadSchema.safeParse(value).data;
  } catch {
    return undefined;
  }
}

/** No proof or certificate is nearly as long: those of a patient contain a tombstone for each encounter and document. */
const MAX_PROOF_BYTES = 64 * MAX_EVENT_BYTES;

/** Checks an export, a proof or an erasure certificate with public keys alone, and prints the findings. */
async function verifyFile(path: string, publicKey: string, headFile?: string): Promise<void> {
  const keys = await readPublicKeys(publicKey);
  const text = await ofFile(path, () => readShort(path));
  const certificate = text === undefined ? undefined : parseCertificate(text);
  if (certificate && 'problem' in certificate) return fail(invalidCertificate(certificate.problem));
  if (certificate) return verifyCertificate(certificate.certificate, keys, headFile);
  const found = text === undefined ? undefined : parseProof(text);
  if (found === undefined) return verifyExportFile(path, keys, headFile);
  if ('problem' in found) return fail(`The proof is not valid: ${found.problem}.`);
  const { proof } = found;
  if (headFile && proof.type === 'chartledger.consistency_proof.v1')
    return fail('The proof contains both of its heads. Verify it without --head.');
  const head = headFile === undefined ? undefined : await readHead(headFile, keys);
  const problem = proofProblem(proof, keys, head);
  if (problem) return fail(`The proof is not valid: ${problem}.`);
  writeLine(describeProof(proof));
}

async function readShort(path: string): Promise<string | undefined> {
  const { size } = await stat(path);
  return size > MAX_PROOF_BYTES ? undefined : readFile(path, 'utf8');
}

function verifyCertificate(certificate: ErasureCertificate, keys: PublicKeys, headFile?: string): void {
  const problem =
    headFile === undefined
      ? certificateProblem(certificate, keys)
      : 'it contains its own head; verify it without --head';
  if (problem) {
    fail(invalidCertificate(problem));
    return;
  }
  const { tombstones, workspace, tree_head } = certificate;
  writeLine(
    `${counted(tombstones.length, 'erasure')} in ${workspace} certified; tree head ${tree_head.root}`,
  );
  for (const line of certifiedErasures(certificate)) writeLine(`  ${line}`);
}

function invalidCertificate(problem: string): string {
  return `The certificate is not valid: ${problem}.`;
}

async function verifyExportFile(path: string, keys: PublicKeys, headFile?: string): Promise<void> {
  if (headFile !== undefined)
    return fail('The manifest of an export contains its head. Verify it without --head.');
  const { manifest, problem } = await ofFile(path, () => verifyExport(path, keys));
  if (problem !== undefined || manifest === undefined) return fail(problem ?? '');
  const { events, workspace, filters, tree_head } = manifest;
  writeLine(
    `${counted(events, 'event')} of ${workspace} verified${limitsText(filters)}; tree head ${tree_head.root}`,
  );
}

/** Says that an export is not meant to be complete: whoever verifies it must not take it for everything. */
function limitsText({ kind, from, to }: ExportFilters): string {
  const limits = [
    ...(kind === null ? [] : [`of the kind ${kind}`]),
    ...(from === null ? [] : [`recorded at or after ${from}`]),
    ...(to === null ? [] : [`recorded before ${to}`]),
  ];
  return limits.length === 0 ? '' : `, only those ${limits.join(', ')}`;
}

function describeProof(proof: Proof): string {
  if (proof.type === 'chartledger.consistency_proof.v1') {
    const { first, second } = proof;
    return `The ${count(first.size)} events of ${first.workspace} are those with which its ${count(second.size)} events begin; tree head ${second.root}`;
  }
  const { event, index, tree_head } = proof;
  const { workspace, size, root } = tree_head;
  return (
    `Version ${event.revision + 1} of ${event.stream}, recorded at ${event.recordedAt}, is event ${count(index + 1)} of ` +
    `${count(size)} of ${workspace}; tree head ${root}`
  );
}

/** The exit code of a verification that had nothing to compare with. */
const NOTHING_COMPARED = 3;

/** Reads every stored document of a workspace, and lists each one that is not what was uploaded: the command then fails. */
async function verifyStoredDocuments(workspace: string): Promise<void> {
  await withLogToVerify(workspace, ({ eventLog }) =>
    withDocumentStore(async (documentStore) => {
      const bar = createLogProgress(terminal().stderr.isTTY === true);
      const onProblem = (problem: DocumentProblem) => fail(describe(problem));
      const found = await verifyDocuments({ eventLog, documentStore }, workspace, {
        onProblem,
        onProgress: bar.at,
      }).finally(() => bar.stop());
      writeLine(`${count(found.verified)} document versions verified, ${count(found.gone)} no longer kept`);
    }),
  );
}

function describe({ what, position, stream, version, objectId }: DocumentProblem): string {
  const place = `stream ${stream}, version ${version}, position ${position}, object ${objectId}`;
  return what === 'changed'
    ? `A stored document is not the one that was uploaded: ${place}.`
    : `A document is no longer stored, although nothing replaced or removed it: ${place}.`;
}

/**
 * Compares the stored rows of the read models with what the log yields: those of a workspace, or all. Lists the first row of each read
 * model that differs: the command then fails.
 */
async function verifyStoredRecords(workspace: string | undefined): Promise<void> {
  await untilInterrupted((signal) =>
    withLogToVerify(workspace ?? INSTALLATION, async ({ eventLog, caller }) => {
      if (workspace === undefined) await recordAccess(eventLog, caller, { action: 'verify' });
      const bar = createLogProgress(terminal().stderr.isTTY === true);
      const verified = await withReadModels(async (readModels) => {
        const found = await withTemporaryModels((folded) =>
          verifyReadModels({ eventLog, readModels, folded }, { workspace, onProgress: bar.at, signal }),
        );
        // The worklist is evaluated from the records.
        if (found.some(({ difference }) => difference)) return found;
        const workspaces = workspace === undefined ? await everyWorkspace() : [workspace];
        return [...found, await verifyWorklist({ eventLog, readModels }, workspaces, signal)];
      }).finally(() => bar.stop());
      reportRows(verified);
    }),
  );
}

function everyWorkspace(): Promise<string[]> {
  return withKeys(async ({ known }) => [...known.workspaces.keys()]);
}

function reportRows(verified: VerifiedModel[]): void {
  const problems = verified.flatMap((model) => problemOf(model) ?? []);
  for (const problem of problems) fail(problem);
  if (problems.length > 0) return;
  const sum = (what: 'rows' | 'unwritten') => verified.reduce((all, one) => all + one[what], 0);
  if (sum('rows') === 0) {
    fail('Nothing was compared: the read models have no rows yet.');
    terminal().exitCode = NOTHING_COMPARED;
    return;
  }
  const unwritten = sum('unwritten');
  const more = unwritten > 0 ? `; ${count(unwritten)} not written yet, and not compared` : '';
  writeLine(
    `${counted(sum('rows'), 'row')} of ${count(verified.length)} read models compared with the log${more}`,
  );
}

function problemOf({
  projection,
  model,
  difference,
  mismatch,
  unreadable,
}: VerifiedModel): string | undefined {
  if (mismatch) return `${model} was not compared: ${mismatchTexts[mismatch]} by the next start.`;
  if (unreadable !== undefined)
    return `${model} was not compared: the event at position ${unreadable} cannot be read any more. To find out why, run: chartledger verify --workspace ID`;
  if (difference === undefined) return undefined;
  const { what, partition, position } = difference;
  const place = `partition ${partition}, position ${position}`;
  return `${model}: ${differenceTexts[what]}: ${place}. To restore what the log says, run: chartledger projections rebuild ${projection}`;
}

const differenceTexts: Record<RowDifference['what'], string> = {
  changed: 'a row is not what the log says',
  outdated: 'a row lacks an event',
  missing: 'a row is missing',
  added: 'a row comes from no event',
};

interface VerifyOptions {
  workspace?: string;
  head?: string;
  heads?: string;
  saveHead?: string;
  publicKey?: string;
  documents?: boolean;
  records?: boolean;
}

function summary({ tree, compared }: Verified, heads: readonly TreeHead[]): string {
  const { size } = tree;
  const behind = size - Math.max(...heads.map((head) => head.size));
  const uncovered = heads.length > 0 && behind > 0 ? `, ${count(behind)} recorded after the newest head` : '';
  const held = heads.length > 1 ? ` and all against ${count(heads.length)} heads` : '';
  return `${counted(size, 'event')} verified, ${count(compared)} of them against the read model${held}${uncovered}; tree head ${treeRoot(tree)}`;
}

/** Returns the heads that the log is compared with, with valid signatures. */
async function headsOf(
  workspace: string,
  { head, heads }: VerifyOptions,
  publicKeys: PublicKeys,
): Promise<TreeHead[]> {
  const one = head === undefined ? [] : [await readHead(head, publicKeys, workspace)];
  return heads === undefined ? one : [...one, ...(await readHeads(heads, publicKeys, workspace))];
}

/** Returns the key that was given, otherwise the service's own; none if that is not available here, and not needed. */
async function trustedKeys(
  eventLog: EventLog,
  { head, heads, saveHead, publicKey }: VerifyOptions,
): Promise<PublicKeys | undefined> {
  if (publicKey !== undefined) return readPublicKeys(publicKey);
  const isNeeded = (head ?? heads ?? saveHead) !== undefined;
  const own = await (isNeeded ? loadSigningKey(eventLog) : ownSigningKey(eventLog));
  return own && publicKeysOf(own);
}

async function verifyLog(workspace: string, options: VerifyOptions) {
  const { saveHead } = options;
  const verifyTree = async ({ eventLog, caller }: Pick<WorkspaceTools, 'eventLog' | 'caller'>) => {
    const trusted = await trustedKeys(eventLog, options);
    const { publicKeys, ends, problems: keyProblems } = await keysOfLog(eventLog, trusted);
    const heads = publicKeys === undefined ? [] : await headsOf(workspace, options, publicKeys);
    await recordAccess(eventLog, caller, { action: 'verify' });
    const bar = createLogProgress(terminal().stderr.isTTY === true);
    const found = await withReadModels((readModels) =>
      verifyWorkspace({ eventLog, readModels }, workspace, { heads, keyEnds: ends, onProgress: bar.at }),
    ).finally(() => bar.stop());
    const texts = verifiedTexts(found);
    const problems = [...keyProblems, ...texts.problems];
    for (const problem of problems) fail(problem);
    for (const remark of texts.remarks) writeLine(`Remark: ${remark}`);
    if (problems.length > 0) return;
    if (heads.length === 0 && found.compared === 0) {
      fail(
        `Nothing was compared: there is no --head, and the read model has no tree yet. ${summary(found, heads)}`,
      );
      terminal().exitCode = NOTHING_COMPARED;
    } else {
      writeLine(summary(found, heads));
    }
    for (const line of erasureLines(found.erased)) writeLine(line);
    if (saveHead === undefined) return;
    const key = await loadSigningKey(eventLog);
    const signed = signTreeHead(workspace, found.tree, found.lastEvent, key);
    await ofFile(saveHead, () => writeWhole(saveHead, signed));
  };
  await withLogToVerify(workspace, verifyTree);
}

async function verify(file: string | undefined, options: VerifyOptions, command: Command): Promise<void> {
  const { workspace, publicKey } = options;
  if (file !== undefined && workspace === undefined) {
    if (publicKey === undefined)
      command.error('error: --public-key is required to verify an export or a proof');
    if (options.heads ?? options.saveHead ?? options.documents)
      command.error('error: --heads, --save-head and --documents require --workspace');
    if (options.records) command.error('error: --records reads the stores, not a file');
    return verifyFile(file, publicKey, options.head);
  }
  if (file !== undefined || (workspace === undefined && !options.records)) {
    command.error('error: specify the file of an export or a proof, --workspace or --records');
  }
  if (workspace === undefined) {
    if (options.head ?? options.heads ?? options.saveHead ?? options.documents)
      command.error('error: --head, --heads, --save-head and --documents require --workspace');
    return verifyStoredRecords(undefined);
  }
  await verifyLog(workspace, options);
  if (options.documents) await verifyStoredDocuments(workspace);
  if (options.records) await verifyStoredRecords(workspace);
}

/** `chartledger verify` */
export function addVerifyCommand(program: Command): void {
  program
    .command('verify')
    .description(
      'Check whether the history was changed. With --workspace: recompute the hash tree from the log, ' +
        'compare it with the read model and with a signed head, and report the first event that differs ' +
        'and anything that no service would have written. With --records: compare the stored rows from which ' +
        'records, lists, searches, worklists and audit trails are answered with what the log yields. With a file: check an export and its manifest, ' +
        'a proof, or the certificate of an erasure, offline, using only the public key. Exit codes: 0 ' +
        'verification succeeded, 1 it failed, 3 there was nothing to compare with.',
    )
    .argument('[file]', 'an export, with its manifest next to it, or a proof')
    .option(
      '--workspace <id>',
      "the workspace whose log is verified; '*': users and sign-ins, which belong to no workspace",
    )
    .option(
      '--head <file>',
      'a signed head, or the manifest of an export, that the log must still match; with a proof: the head ' +
        'that the proof is for',
    )
    .option('--heads <folder>', 'a folder of signed heads, all of which the log must still match')
    .option('--save-head <file>', 'the file to write the signed head to if verification succeeds')
    .option('--documents', 'also read every stored document and compare it with its digest in the log')
    .option(
      '--records',
      'also recompute the read models from the log and compare each stored row; without --workspace, this ' +
        'check only, for all workspaces',
    )
    .option(
      '--public-key <file>',
      'the public key (PEM) of the signing key, or of an earlier or later one; with --workspace, defaults ' +
        "to the service's own key",
    )
    .addHelpText(
      'after',
      example(
        'chartledger verify --workspace clinic --save-head head.json',
        'chartledger verify --workspace clinic --head head.json --documents',
        'chartledger verify --workspace clinic --heads /mnt/heads',
        "chartledger verify --workspace '*'",
        'chartledger verify --records',
        'chartledger secrets show signing > chartledger.pem',
        'chartledger verify clinic.ndjson --public-key chartledger.pem',
        'chartledger verify proof.json --public-key chartledger.pem',
      ),
    )
    .action(verify);
}

/** `chartledger secrets show …` */
export function addShowSecretsCommands(secrets: Command): void {
  secrets
    .command('show')
    .description("Print what others need of the service's own keys.")
    .command('signing')
    .description(
      'Print the public key (PEM) that verifies exports and signed heads, followed by the record of how it ' +
        'succeeded earlier keys, so that signatures made with those keys can also be verified.',
    )
    .addHelpText('after', example('chartledger secrets show signing > chartledger.pem'))
    .action(async () => {
      const key = await withEventLog(loadSigningKey);
      writeLine(publicKeysOf(key).text().trimEnd());
    });
}
