import { join, parse } from 'node:path';
import type { Command } from 'commander';
import type { RecordedEvent } from '../../domain/events/event.ts';
import type { Workspace, WorkspaceDeletion } from '../../modules/auth/apiKeys.ts';
import {
  type DeletionPlan,
  type DeletionPorts,
  type DeletionResult,
  deleteWorkspace,
  planDeletion,
  tombstonesOf,
} from '../../modules/erasure/deleteWorkspace.ts';
import { locateErasedBytes } from '../../modules/erasure/scavenges.ts';
import { certifyErasure } from '../../modules/integrity/erasureCertificate.ts';
import { writeWhole } from '../../modules/integrity/exportArchive.ts';
import { loadSigningKey } from '../../server/stores.ts';
import { terminal } from '../../server/terminal.ts';
import { withErasure } from '../../server/withErasure.ts';
import { ofFile } from '../lib/files.ts';
import { count, counted, example, fail, writeJson, writeLine, writeTable } from '../lib/terminal.ts';
import { erasedLine } from './erase.ts';
import {
  addScavengeOptions,
  checkScavengeOptions,
  finishBytes,
  type ScavengeOptions,
} from './erasedBytes.ts';

interface DeleteOptions extends ScavengeOptions {
  confirm?: string;
  dryRun?: boolean;
  reason: string;
  certificate?: string;
  json?: boolean;
}

/** `chartledger workspaces delete` */
export function addDeleteCommand(workspaces: Command): void {
  const command = workspaces
    .command('delete')
    .description(
      'Permanently delete a workspace: deactivate it, erase all of its records and documents, and remove its messages, webhooks ' +
        'and sources. What remains is its audit trail, a tombstone for each record, and its id, which is never used again. The ' +
        'service must be running. If interrupted, run the command again to resume. Backups made before still contain the records.',
    )
    .argument('<id>', 'the workspace')
    .option('--dry-run', 'count what would be deleted, and the legal holds that prevent it; write nothing')
    .option('--confirm <id>', 'the id of the workspace again')
    .option(
      '--reason <text>',
      'the reason, which is kept; do not identify a person',
      'Deletion of the workspace',
    );
  addScavengeOptions(command)
    .option(
      '--certificate <file>',
      'where to write a signed statement of what was erased, which can be verified offline',
    )
    .option('--json', 'print the counts as JSON')
    .addHelpText(
      'after',
      example(
        'chartledger workspaces delete old_clinic --dry-run',
        'chartledger workspaces delete old_clinic --confirm old_clinic --certificate old_clinic.json',
      ),
    )
    .action(deleteOne);
}

async function deleteOne(id: string, options: DeleteOptions, command: Command): Promise<void> {
  checkScavengeOptions(options, command);
  const { confirm, dryRun = false, json } = options;
  if (dryRun && confirm !== undefined) command.error('error: specify --dry-run or --confirm, not both');
  if (!dryRun && confirm === undefined) {
    command.error(
      `error: to delete the workspace, repeat its id: --confirm ${id}; to see what would be deleted: --dry-run`,
    );
  }
  if (!dryRun && confirm !== id)
    command.error('error: --confirm does not match the workspace; nothing was deleted');
  await withErasure(id, async (ports, caller, workspace) => {
    if (dryRun) return showPlan(workspace, await planDeletion(ports, id), json);
    const progress = (line: string) => terminal().stderr.write(`${line}\n`);
    const { reason } = options;
    const result = await deleteWorkspace(ports, caller, {
      reason,
      onBatch: (tally) => progress(erasedLine(tally)),
    });
    const isPurged =
      result.position === undefined ||
      (await finishBytes(ports, result.position, options, json ? progress : writeLine));
    const present = ports.directory.known.workspaces.get(id) as Workspace;
    const certificates =
      options.certificate !== undefined && isPurged && present.deletion?.completed
        ? await writeCertificates(ports, present.deletion, options.certificate)
        : [];
    showResult(present, result, certificates, json);
    if (options.certificate !== undefined && certificates.length === 0)
      fail('The certificate cannot be created yet. Run the command again later to write it.');
  });
}

function showPlan({ id, state }: Workspace, plan: DeletionPlan, json: boolean | undefined): void {
  if (json) writeJson({ workspace: id, state, ...plan });
  else {
    const { records, holds: _, ...others } = plan;
    writeTable(
      ['WHAT', 'COUNT'],
      Object.entries({ ...records, ...others }).map(([what, number]) => [what, count(number)]),
    );
    writeLine();
    writeLine(`Nothing was written. To delete it: chartledger workspaces delete ${id} --confirm ${id}`);
  }
  if (plan.holds > 0)
    fail(`It cannot be deleted: ${counted(plan.holds, 'legal hold')} in force. Release them first.`);
}

function showResult(
  { id, state }: Workspace,
  { records, documents, messages, kept }: DeletionResult,
  certificates: string[],
  json: boolean | undefined,
): void {
  if (json) {
    const more = { ...(kept && { kept }), ...(certificates.length > 0 && { certificates }) };
    writeJson({ workspace: id, state, records, documents, messages, ...more });
  } else {
    writeTable(
      ['WHAT', 'ERASED'],
      Object.entries({ ...records, documents, messages }).map(([what, number]) => [what, count(number)]),
    );
    for (const path of certificates) writeLine(`Certificate: ${path}`);
    if (!kept) writeLine(`Deleted workspace ${id}. Its id is never used again.`);
  }
  if (!kept) return;
  const { held, referred_to, unreadable } = kept;
  fail(
    `Workspace ${id} is deactivated, but not deleted yet. Kept under legal hold: ${count(held)}; referred to by those: ` +
      `${count(referred_to)}; not to be read by this version: ${count(unreadable)}. Run the command again when that has changed.`,
  );
}

/** Verification reads a certificate as a whole, up to 64 MiB. */
const MAX_CERTIFICATE_BYTES = 32 * 1024 * 1024;
/** What a tombstone takes besides its data: its metadata and its place in the tree. */
const PROOF_BYTES = 2 * 1024;

/** Writes what was erased into a file, or, for a large workspace, several: `clinic.json`, `clinic-2.json` …; returns their paths. */
async function writeCertificates(
  ports: DeletionPorts,
  deletion: WorkspaceDeletion,
  path: string,
): Promise<string[]> {
  const { eventLog } = ports;
  const { stream, revision } = deletion.completed as NonNullable<WorkspaceDeletion['completed']>;
  const [event] = await eventLog.readStream(stream, { from: revision, limit: 1 });
  const { dir, name, ext } = parse(path);
  const paths: string[] = [];
  let group: RecordedEvent[] = [];
  let bytes = 0;
  const write = async () => {
    const at = paths.length === 0 ? path : join(dir, `${name}-${paths.length + 1}${ext}`);
    const located = await locateErasedBytes(ports, group.at(-1)?.position ?? 0);
    const signed = await certifyErasure(ports, group, located, () => loadSigningKey(eventLog), event);
    await ofFile(at, () => writeWhole(at, signed));
    paths.push(at);
    group = [];
    bytes = 0;
  };
  for await (const tombstone of tombstonesOf(eventLog, deletion)) {
    const size = PROOF_BYTES + Buffer.byteLength(JSON.stringify(tombstone.data));
    if (bytes > 0 && bytes + size > MAX_CERTIFICATE_BYTES) await write();
    group.push(tombstone);
    bytes += size;
  }
  if (group.length > 0 || paths.length === 0) await write();
  return paths;
}
