import type { Command } from 'commander';
import { documentStream, recordStream } from '../../domain/events/streams.ts';
import { catalogEntry } from '../../domain/records/catalog.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { writeWhole } from '../../modules/integrity/exportArchive.ts';
import {
  type ConsistencyProof,
  eventOfVersion,
  type InclusionProof,
  type Proof,
  proveConsistency,
  proveEvent,
} from '../../modules/integrity/proofs.ts';
import { signTreeHead, type TreeHead } from '../../modules/integrity/publicKeys.ts';
import { ServiceError } from '../../platform/errors.ts';
import {
  loadSigningKey,
  type WorkspaceTools,
  withCurrentModels,
  withLogToVerify,
  withWorkspace,
} from '../../server/stores.ts';
import { ofFile } from '../lib/files.ts';
import { kindArgument, parsePositive } from '../lib/options.ts';
import { count, example, writeLine } from '../lib/terminal.ts';
import { checkingKeys } from './verify.ts';
import { readHead } from './verifyFile.ts';

interface ProveOptions {
  workspace: string;
  version: number;
  encounter?: string;
  head?: string;
  publicKey?: string;
  out?: string;
}

/** What is proved: its stream, display name, and name in the audit trail. */
interface Subject {
  stream: string;
  title: string;
  access: {
    action: 'record.proof' | 'document.proof';
    kind: string;
    record_id: string;
    document_id?: string;
  };
}

function subjectOf(kind: string, id: string, { workspace, encounter }: ProveOptions): Subject {
  if (kind === 'document' && encounter !== undefined) {
    return {
      stream: documentStream(workspace, encounter, id),
      title: 'Document',
      access: { action: 'document.proof', kind, record_id: encounter, document_id: id },
    };
  }
  return {
    stream: recordStream(workspace, kind, id),
    title: catalogEntry(kind).title,
    access: { action: 'record.proof', kind, record_id: id },
  };
}

async function writeProof(proof: Proof, out: string | undefined, said: string): Promise<void> {
  if (out === undefined) return writeLine(JSON.stringify(proof, undefined, 2));
  await ofFile(out, () => writeWhole(out, proof));
  writeLine(`${said} in ${out}.`);
}

async function prove(kind: string, id: string, options: ProveOptions, command: Command): Promise<void> {
  const { workspace, version, encounter, head: headFile, publicKey, out } = options;
  if (kind === 'document' && encounter === undefined)
    command.error('error: specify the encounter of the document with --encounter');
  if (kind !== 'document' && encounter !== undefined)
    command.error('error: --encounter is only for the kind document');
  const subject = subjectOf(kind, id, options);
  await withWorkspace(workspace, async (tools) => {
    const keys = async () => checkingKeys(tools.eventLog, publicKey);
    const head = headFile === undefined ? undefined : await readHead(headFile, await keys(), workspace);
    const proof = await provenVersion(tools, subject, version, head);
    const { index, tree_head } = proof;
    const said = `Version ${version} is event ${count(index + 1)} of ${count(tree_head.size)} of ${workspace}: the proof is`;
    await writeProof(proof, out, said);
  });
}

/** Returns the proof of one version against a head signed earlier, otherwise against one signed now. */
async function provenVersion(
  { eventLog, caller }: WorkspaceTools,
  { stream, title, access }: Subject,
  version: number,
  head: TreeHead | undefined,
): Promise<InclusionProof> {
  const event = await eventOfVersion(eventLog, stream, version, title);
  return withCurrentModels(eventLog, async (readModels) => {
    const { proof, stored } = await proveEvent({ eventLog, readModels }, event, { treeSize: head?.size });
    if (head && head.root !== proof.tree_head.root) throw otherLog(head);
    const tree_head =
      head ?? signTreeHead(caller.workspace, stored.head, stored.head.last, await loadSigningKey(eventLog));
    const query = { version, ...(head && { tree_size: head.size }) };
    await recordAccess(eventLog, caller, { ...access, query });
    return { ...proof, tree_head };
  });
}

async function proveTwoHeads(
  firstFile: string,
  secondFile: string,
  { workspace, publicKey, out }: Pick<ProveOptions, 'workspace' | 'publicKey' | 'out'>,
): Promise<void> {
  await withLogToVerify(workspace, ({ eventLog }) =>
    withCurrentModels(eventLog, async (readModels) => {
      const keys = await checkingKeys(eventLog, publicKey);
      const first = await readHead(firstFile, keys, workspace);
      const second = await readHead(secondFile, keys, workspace);
      const found = await proveConsistency({ eventLog, readModels }, first, second);
      if ('differs' in found) throw otherLog(found.differs);
      const said = `The ${count(first.size)} events are those with which the ${count(second.size)} begin: the proof is`;
      await writeProof(found satisfies ConsistencyProof, out, said);
    }),
  );
}

function otherLog({ created_at }: TreeHead): ServiceError {
  return new ServiceError(
    'conflict',
    `The hash tree does not match the head that was signed at ${created_at}. See: chartledger verify --head`,
  );
}

/** `chartledger records prove` */
export function addProveCommand(records: Command): void {
  records
    .command('prove')
    .description(
      'Prove that one version of a record or document is in the history of its workspace: the event, its ' +
        'place in the hash tree and a signed head. Anyone with the public key can verify the proof ' +
        'offline with `chartledger verify`. The audit trail records that it was read, and by whom.',
    )
    .addArgument(kindArgument('<kind>', undefined, 'document'))
    .argument('<id>', 'the id that the record was sent with')
    .requiredOption('--workspace <id>', 'the workspace of the record')
    .requiredOption('--version <n>', 'the version: 1, 2, 3 …', parsePositive)
    .option('--encounter <id>', 'the encounter of a document')
    .option(
      '--head <file>',
      'the signed head, or manifest of an export, to prove it for (default: one signed now)',
    )
    .option(
      '--public-key <file>',
      "the public key (PEM) of the key that signed that head (default: the service's own key)",
    )
    .option('--out <file>', 'the file to write (default: standard output)')
    .addHelpText(
      'after',
      example(
        'chartledger records prove patient patient-1001 --workspace clinic --version 3 --out proof.json',
        'chartledger records prove patient patient-1001 --workspace clinic --version 3 --head clinic-head.json',
        'chartledger verify proof.json --public-key chartledger.pem',
      ),
    )
    .action(prove);
}

/** `chartledger heads …` */
export function addHeadCommands(heads: Command): void {
  heads
    .command('prove')
    .description(
      'Prove that the history of a later signed head begins with the history of an earlier one. Anyone ' +
        'with the public key can verify the proof offline with `chartledger verify`.',
    )
    .argument('<first>', 'file of the earlier head, or manifest of an export')
    .argument('<second>', 'file of the later one')
    .requiredOption(
      '--workspace <id>',
      "the workspace of both; '*': users and sign-ins, which belong to no workspace",
    )
    .option(
      '--public-key <file>',
      "the public key (PEM) of the key that signed them (default: the service's own key)",
    )
    .option('--out <file>', 'the file to write (default: standard output)')
    .addHelpText(
      'after',
      example(
        'chartledger heads prove march.json april.json --workspace clinic --out consistency.json',
        'chartledger verify consistency.json --public-key chartledger.pem',
      ),
    )
    .action(proveTwoHeads);
}
