import type { Command } from 'commander';
import { treeRoot } from '../../domain/hashTree.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { writeWhole } from '../../modules/integrity/ExportFile.ts';
import { keysOfLog } from '../../modules/integrity/loggedRotations.ts';
import type { PublicKeys } from '../../modules/integrity/PublicKeys.ts';
import { publicKeysOf } from '../../modules/integrity/SigningKey.ts';
import { signTreeHead, type TreeHead } from '../../modules/integrity/treeHead.ts';
import { verifiedTexts } from '../../modules/integrity/verifiedTexts.ts';
import { type Verified, verifyWorkspace } from '../../modules/integrity/verifyWorkspace.ts';
import { terminal } from '../../server/terminal.ts';
import {
  loadSigningKey,
  ownSigningKey,
  type WorkspaceTools,
  withEventLog,
  withLogToVerify,
  withReadModels,
} from '../../server/withStores.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { createLogProgress } from '../lib/logProgress.ts';
import { ofFile } from '../lib/ofFile.ts';
import { count, counted, example, fail, writeLine } from '../lib/output.ts';
import { erasureLines } from './erasureLines.ts';
import { readHead, readHeads, readPublicKeys } from './signedFiles.ts';
import { verifyFile } from './verifyFile.ts';
import { NOTHING_COMPARED, verifyStoredDocuments, verifyStoredRecords } from './verifyStored.ts';

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

/** `chartledger verify`, `chartledger signing-key` */
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
        'chartledger signing-key > chartledger.pem',
        'chartledger verify clinic.ndjson --public-key chartledger.pem',
        'chartledger verify proof.json --public-key chartledger.pem',
      ),
    )
    .action(verify);

  program
    .command('signing-key')
    .description(
      'Print the public key (PEM) that verifies exports and signed heads, followed by the record of how it ' +
        'succeeded earlier keys, so that signatures made with those keys can be verified too.',
    )
    .addHelpText('after', example('chartledger signing-key > chartledger.pem'))
    .action(async () => {
      const key = await withEventLog(loadSigningKey);
      writeLine(publicKeysOf(key).text().trimEnd());
    });
}
