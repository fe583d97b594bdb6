import { createPublicKey, type KeyObject } from 'node:crypto';
import type { Command } from 'commander';
import { terminal } from '../app/terminal.ts';
import { loadSigningKey, type WorkspaceTools, withReadModels, withWorkspace } from '../app/withStores.ts';
import { recordAccess } from '../audit/recordAccess.ts';
import { writeWhole } from '../evidence/export/ExportFile.ts';
import {
  type OddEvent,
  type OddEvents,
  type Oddities,
  type OddityKind,
  oddityKinds,
} from '../evidence/OddityCheck.ts';
import { publicKeyPem } from '../evidence/signing.ts';
import { signTreeHead, type TreeHead } from '../evidence/treeHead.ts';
import { type Difference, type Verified, verifyWorkspace } from '../evidence/verifyWorkspace.ts';
import { treeRoot } from '../hashing/hashTree.ts';
import type { EventLog } from '../ports/eventLog.ts';
import { erasureLines } from './erasure/erasureLines.ts';
import { createLogProgress } from './logProgress.ts';
import { ofFile } from './ofFile.ts';
import { count, example, FAILED, fail, writeLine } from './output.ts';
import { readHead, readHeads, readPublicKey } from './signedFiles.ts';
import { verifyFile } from './verifyFile.ts';
import { verifyStoredDocuments } from './verifyStoredDocuments.ts';

interface VerifyOptions {
  workspace?: string;
  head?: string;
  heads?: string;
  saveHead?: string;
  publicKey?: string;
  documents?: boolean;
}

const NOTHING_COMPARED = 3;

const said: Record<Difference['what'], string> = {
  changed: 'was changed',
  unreadable: 'cannot be read: its bytes were changed',
  missing: 'is missing',
  added: 'was added later',
};

function describe({ what, position, stream, version, eventId }: Difference): string {
  const place = stream === undefined ? '' : `stream ${stream}, version ${version}, `;
  return `The event at position ${position} ${said[what]}: ${place}event ${eventId}.`;
}

const odd: Record<OddityKind, (event: OddEvent) => string> = {
  olderThanHead: ({ recordedAt, notBefore }) =>
    `claims to be of ${recordedAt}, before the signed head's last event (${notBefore}), and was not in the head`,
  repeatedId: () => 'has the id of an earlier event',
  olderThanBefore: ({ recordedAt, notBefore }) =>
    `claims to be of ${recordedAt}, before the event ahead of it (${notBefore})`,
};

/** Each odd event in a line, as far as they were collected, and how many more there are. */
function describeOdd(kind: OddityKind, { count: all, first }: OddEvents): string[] {
  const lines = first.map(({ position, stream, revision, id, ...event }) => {
    const what = odd[kind]({ position, stream, revision, id, ...event });
    return `The event at position ${position} ${what}: stream ${stream}, version ${revision + 1}, event ${id}.`;
  });
  return all === first.length ? lines : [...lines, `${count(all - first.length)} more events show the same.`];
}

/** Says what is odd. Where leaders change, a time that falls proves nothing by itself: that is a remark. */
function tellOddities(oddities: Oddities, { timesRise }: EventLog): void {
  for (const kind of oddityKinds) {
    const lines = describeOdd(kind, oddities[kind]);
    if (kind === 'olderThanBefore' && !timesRise) {
      const [first] = lines;
      if (first)
        writeLine(
          `Remark: the times of ${count(oddities[kind].count)} events fall, as after a change of leader. The first: ${first}`,
        );
    } else {
      for (const line of lines) fail(line);
    }
  }
}

function summary({ tree, compared }: Verified, heads: readonly TreeHead[]): string {
  const { size } = tree;
  const held = heads.length > 1 ? ` and all against ${count(heads.length)} heads` : '';
  return `${count(size)} events verified, ${count(compared)} of them against the read model${held}; tree head ${treeRoot(tree)}`;
}

/** The heads that the log is held against, whose signatures hold. */
async function headsOf(
  workspace: string,
  { head, heads }: VerifyOptions,
  publicKey: KeyObject,
): Promise<TreeHead[]> {
  const one = head === undefined ? [] : [await readHead(head, publicKey, workspace)];
  return heads === undefined ? one : [...one, ...(await readHeads(heads, publicKey, workspace))];
}

async function verifyLog(workspace: string, options: VerifyOptions) {
  const { saveHead, publicKey } = options;
  const signingKey = await loadSigningKey();
  const key = publicKey === undefined ? createPublicKey(signingKey) : await readPublicKey(publicKey);
  const heads = await headsOf(workspace, options, key);
  const verifyTree = async ({ eventLog, caller }: WorkspaceTools) => {
    await recordAccess(eventLog, caller, { action: 'verify' });
    const bar = createLogProgress(terminal().stderr.isTTY === true);
    const found = await withReadModels((readModels) =>
      verifyWorkspace({ eventLog, readModels }, workspace, { heads, onProgress: bar.at }),
    ).finally(() => bar.stop());
    if (found.difference) return fail(describe(found.difference));
    if (found.headProblem) {
      const { head, problem } = found.headProblem;
      return fail(`The log is not the one whose head was signed at ${head.created_at}: ${problem}.`);
    }
    tellOddities(found.oddities, eventLog);
    if (terminal().exitCode === FAILED) return;
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
    const signed = signTreeHead(workspace, found.tree, found.lastEvent, signingKey);
    await ofFile(saveHead, () => writeWhole(saveHead, signed));
  };
  await withWorkspace(workspace, verifyTree, { orInstallation: true });
}

async function verify(file: string | undefined, options: VerifyOptions, command: Command): Promise<void> {
  const { workspace, publicKey } = options;
  if (file !== undefined && workspace === undefined) {
    if (publicKey === undefined) command.error('error: an export or a proof is checked with --public-key');
    if (options.heads ?? options.saveHead ?? options.documents)
      command.error('error: --heads, --save-head and --documents go with --workspace');
    return verifyFile(file, publicKey, options.head);
  }
  if (file !== undefined || workspace === undefined) {
    command.error('error: give the file of an export or a proof, or --workspace');
  }
  await verifyLog(workspace, options);
  if (options.documents) await verifyStoredDocuments(workspace);
}

/** `chartledger verify`, `chartledger signing-key` */
export function addVerifyCommand(program: Command): void {
  program
    .command('verify')
    .description(
      'Find out whether history was changed. With --workspace: recompute the hash tree from the log, compare it with ' +
        'the read model and with a signed head, and name the first event that differs, and what no service would have ' +
        'written. With a file: check an export and its manifest, a proof, or the certificate of an erasure, offline, with ' +
        'the public key alone. Exit codes: 0 all holds, 1 it does not, 3 there was nothing to compare with.',
    )
    .argument('[file]', 'an export, whose manifest is beside it, or a proof')
    .option(
      '--workspace <id>',
      "the workspace whose log is verified; '*': users and sign-ins, which are of none",
    )
    .option(
      '--head <file>',
      'a signed head, or the manifest of an export, that the log must still hold; with a proof: the head that it is of',
    )
    .option('--heads <folder>', 'a folder of signed heads, all of which the log must still hold')
    .option('--save-head <file>', 'where the signed head is written when all holds')
    .option('--documents', 'read every stored document as well, and compare it with its digest in the log')
    .option(
      '--public-key <file>',
      'the public key (PEM) that signed; with --workspace, by default the own one',
    )
    .addHelpText(
      'after',
      example(
        'chartledger verify --workspace clinic --save-head head.json',
        'chartledger verify --workspace clinic --head head.json --documents',
        'chartledger verify --workspace clinic --heads /mnt/heads',
        "chartledger verify --workspace '*'",
        'chartledger signing-key > chartledger.pem',
        'chartledger verify clinic.ndjson --public-key chartledger.pem',
        'chartledger verify proof.json --public-key chartledger.pem',
      ),
    )
    .action(verify);

  program
    .command('signing-key')
    .description('Print the public key (PEM) that checks exports and signed heads.')
    .addHelpText('after', example('chartledger signing-key > chartledger.pem'))
    .action(async () => writeLine(publicKeyPem(await loadSigningKey()).trimEnd()));
}
