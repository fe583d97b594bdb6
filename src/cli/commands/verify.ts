import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { INSTALLATION } from '../../domain/events/streams.ts';
import { treeRoot } from '../../domain/merkle.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { NOTICES } from '../../modules/erasure/notices.ts';
import { writeWhole } from '../../modules/integrity/exportArchive.ts';
import {
  keysOfLog,
  type PublicKeys,
  publicKeysOf,
  signTreeHead,
  type TreeHead,
} from '../../modules/integrity/publicKeys.ts';
import {
  type DocumentProblem,
  type Verified,
  verifiedTexts,
  verifyDocuments,
  verifyWorkspace,
} from '../../modules/integrity/verify.ts';
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
import { count, counted, example, INTERRUPTED, untilInterrupted, writeLine } from '../lib/terminal.ts';
import { erasureLines } from './erase.ts';
import { Findings } from './findings.ts';
import { readHead, readPublicKeys, verifyFile } from './verifyFile.ts';

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

/** Reads every stored document of a workspace, and lists each one that is not what was uploaded: the command then fails. */
async function verifyStoredDocuments(findings: Findings, workspace: string): Promise<void> {
  await withLogToVerify(workspace, ({ eventLog }) =>
    withDocumentStore(async (documentStore) => {
      const bar = createLogProgress(terminal().stderr.isTTY === true);
      const onProblem = (problem: DocumentProblem) => findings.problem(describe(problem));
      const found = await verifyDocuments({ eventLog, documentStore }, workspace, {
        onProblem,
        onProgress: bar.at,
      }).finally(() => bar.stop());
      const { verified, gone } = found;
      findings.verified('documents', { verified, gone }, [
        `${count(verified)} document versions verified, ${count(gone)} no longer kept`,
      ]);
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
async function verifyStoredRecords(findings: Findings, workspace: string | undefined): Promise<void> {
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
      reportRows(findings, verified);
    }),
  );
}

function everyWorkspace(): Promise<string[]> {
  return withKeys(async ({ known }) => [...known.workspaces.keys()]);
}

function reportRows(findings: Findings, verified: VerifiedModel[]): void {
  const problems = verified.flatMap((model) => problemOf(model) ?? []);
  for (const problem of problems) findings.problem(problem);
  if (problems.length > 0) return;
  const sum = (what: 'rows' | 'unwritten') => verified.reduce((all, one) => all + one[what], 0);
  if (sum('rows') === 0) {
    findings.nothing('Nothing was compared: the read models have no rows yet.');
    return;
  }
  const unwritten = sum('unwritten');
  const more = unwritten > 0 ? `; ${count(unwritten)} not written yet, and not compared` : '';
  findings.verified('read_models', { rows: sum('rows'), models: verified.length, unwritten }, [
    `${counted(sum('rows'), 'row')} of ${count(verified.length)} read models compared with the log${more}`,
  ]);
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
  proof?: string;
  heads?: string;
  saveHead?: string;
  publicKey?: string;
  documents?: boolean;
  records?: boolean;
  json?: boolean;
}

function summary({ tree, compared }: Verified, heads: readonly TreeHead[]): string {
  const { size } = tree;
  const behind = size - Math.max(...heads.map((head) => head.size));
  const uncovered = heads.length > 0 && behind > 0 ? `, ${count(behind)} recorded after the newest head` : '';
  const held = heads.length > 1 ? ` and all against ${count(heads.length)} heads` : '';
  return `${counted(size, 'event')} verified, ${count(compared)} of them against the read model${held}${uncovered}; tree head ${treeRoot(tree)}`;
}

function logPart(workspace: string, { tree, compared, erased }: Verified, heads: readonly TreeHead[]) {
  return {
    ...{ workspace, events: tree.size, compared, heads: heads.length, tree_head: treeRoot(tree) },
    ...{ erased_events: erased.count, erasures: erased.reported },
  };
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

async function verifyLog(findings: Findings, workspace: string, options: VerifyOptions) {
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
    for (const problem of problems) findings.problem(problem);
    for (const remark of texts.remarks) findings.remark(remark);
    if (problems.length > 0) return;
    if (heads.length === 0 && found.compared === 0) {
      findings.nothing(
        `Nothing was compared: there is no --head, and the read model has no tree yet. ${summary(found, heads)}`,
      );
      findings.verified('log', logPart(workspace, found, heads), erasureLines(found.erased));
    } else {
      const lines = [summary(found, heads), ...erasureLines(found.erased)];
      findings.verified('log', logPart(workspace, found, heads), lines);
    }
    if (saveHead === undefined) return;
    const key = await loadSigningKey(eventLog);
    const signed = signTreeHead(workspace, found.tree, found.lastEvent, key);
    await ofFile(saveHead, () => writeWhole(saveHead, signed));
  };
  await withLogToVerify(workspace, verifyTree);
}

async function verify(file: string | undefined, options: VerifyOptions, command: Command): Promise<void> {
  const findings = new Findings(options.json);
  await verifyEach(findings, file, options, command);
  if (terminal().exitCode !== INTERRUPTED) findings.end();
}

async function verifyEach(
  findings: Findings,
  file: string | undefined,
  options: VerifyOptions,
  command: Command,
): Promise<void> {
  const { workspace, publicKey } = options;
  if (file !== undefined && workspace === undefined) {
    if (publicKey === undefined)
      command.error('error: --public-key is required to verify an export or a proof');
    if (options.heads ?? options.saveHead ?? options.documents)
      command.error('error: --heads, --save-head and --documents require --workspace');
    if (options.records) command.error('error: --records reads the stores, not a file');
    return verifyFile(findings, { path: file, publicKey, headFile: options.head, proofFile: options.proof });
  }
  if (options.proof !== undefined) command.error('error: --proof requires the file of a page');
  if (file !== undefined || (workspace === undefined && !options.records)) {
    command.error('error: specify the file of an export or a proof, --workspace or --records');
  }
  if (workspace === undefined) {
    if (options.head ?? options.heads ?? options.saveHead ?? options.documents)
      command.error('error: --head, --heads, --save-head and --documents require --workspace');
    return verifyStoredRecords(findings, undefined);
  }
  await verifyLog(findings, workspace, options);
  if (options.documents) await verifyStoredDocuments(findings, workspace);
  if (options.records) await verifyStoredRecords(findings, workspace);
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
        'a report or another file with its manifest, a proof, the certificate of an erasure, the copy of a patient, or the foot of ' +
        'a printed page, offline, using only the public key. Exit codes: 0 ' +
        'verification succeeded, 1 it failed, 3 there was nothing to compare with.',
    )
    .argument('[file]', 'a file with its manifest next to it, a proof, a certificate, a copy, or a page')
    .option(
      '--workspace <id>',
      "the workspace whose log is verified; '*': users and sign-ins, which belong to no workspace",
    )
    .option(
      '--head <file>',
      'a signed head, or the manifest of an export, that the log must still match; with a proof: the head ' +
        'that the proof is for',
    )
    .option(
      '--proof <file>',
      'with the text or HTML of a printed page: the proof of the event that its foot names',
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
    .option('--json', 'print a JSON object: the outcome, what was verified, and the problems')
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
