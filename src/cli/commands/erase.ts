import type { Command } from 'commander';
import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { kindOfStream, recordStream } from '../../domain/events/streams.ts';
import { catalogEntry } from '../../domain/records/catalog.ts';
import { eraseRecord, erasureOf, type RecordedErasure } from '../../modules/erasure/erase.ts';
import type { ErasurePorts } from '../../modules/erasure/finish.ts';
import { resetSandbox } from '../../modules/erasure/resetSandbox.ts';
import type { RetentionTally } from '../../modules/erasure/retention.ts';
import { locateErasedBytes } from '../../modules/erasure/scavenges.ts';
import { certifyErasure } from '../../modules/integrity/erasureCertificate.ts';
import { writeWhole } from '../../modules/integrity/exportArchive.ts';
import type { Verified } from '../../modules/integrity/verify.ts';
import { ignoreUnavailable } from '../../platform/retry.ts';
import { loadSigningKey } from '../../server/stores.ts';
import { terminal } from '../../server/terminal.ts';
import { withErasure } from '../../server/withErasure.ts';
import { ofFile } from '../lib/files.ts';
import { kindArgument } from '../lib/options.ts';
import { count, counted, example, fail, writeLine, writeTable } from '../lib/terminal.ts';
import {
  addScavengeOptions,
  checkScavengeOptions,
  finishBytes,
  type ScavengeOptions,
} from './erasedBytes.ts';

interface EraseOptions extends ScavengeOptions {
  workspace: string;
  reason: string;
  withEncounters?: boolean;
  certificate?: string;
}

/** `chartledger records erase` */
export function addEraseCommand(records: Command): void {
  const command = records
    .command('erase')
    .description(
      'Permanently erase a record: its events, an encounter’s documents with their bytes, and everything ' +
        'derived from them. What remains is its id, who erased it, when and why, and hashes that prove ' +
        'that the log is complete. The service must be running. Backups made before the erasure still ' +
        'contain the record.',
    )
    .addArgument(kindArgument('<kind>'))
    .argument('<id>', 'the id that the record was sent with')
    .requiredOption('--workspace <id>', 'the workspace of the record')
    .requiredOption('--reason <text>', 'the reason, which is kept; do not identify the person concerned')
    .option('--with-encounters', 'for a patient: also erase its encounters and their documents');
  addScavengeOptions(command)
    .option(
      '--certificate <file>',
      'where to write a signed statement of what was erased, which can be verified offline',
    )
    .addHelpText(
      'after',
      example(
        'chartledger records erase patient patient-1001 --workspace clinic --reason "Request 2026-117" --with-encounters',
      ),
    )
    .action(erase);
}

async function erase(
  kind: string,
  id: string,
  { workspace, ...options }: EraseOptions,
  command: Command,
): Promise<void> {
  checkScavengeOptions(options, command);
  const entry = catalogEntry(kind);
  await withErasure(workspace, async (ports, caller) => {
    const { certificate, scavenge = false } = options;
    // What remains to be done for a record that is already erased.
    const isMore = certificate !== undefined || scavenge;
    const earlier = isMore ? await erasureOf(ports, recordStream(workspace, kind, id)) : undefined;
    if (earlier) writeLine(erasedBefore(kind, earlier));
    const erasure = earlier ?? (await eraseRecord(ports, caller, entry, id, options));
    writeErased(erasure);
    const { position } = erasure.tombstones.at(-1) as RecordedEvent;
    const isPurged = await finishBytes(ports, position, options);
    const isComplete = erasure.isComplete && isPurged;
    if (certificate !== undefined)
      await writeCertificate(ports, { ...erasure, isComplete }, position, certificate);
  });
}

function erasedBefore(kind: string, { tombstones: [own] }: RecordedErasure): string {
  const { recordedAt, metadata, data } = own as RecordedEvent;
  const { type, id } = metadata.principal;
  return `The ${kind} was erased already, at ${recordedAt} by ${type} ${id}: ${data.reason}`;
}

/** Prints what was erased, by kind. */
function writeErased({ tombstones }: RecordedErasure): void {
  const byKind = [...Map.groupBy(tombstones, ({ stream }) => kindOfStream(stream))];
  writeTable(
    ['KIND', 'ERASED', 'VERSIONS'],
    byKind.map(([kind, some]) => [kind, count(some.length), count(versionsOf(some))]),
  );
}

/** Needs the tree of the read model, and everything that goes with the record. */
async function writeCertificate(
  ports: ErasurePorts,
  { tombstones, isComplete }: RecordedErasure,
  position: Position,
  path: string,
): Promise<void> {
  const signed =
    isComplete &&
    (await ignoreUnavailable(
      locateErasedBytes(ports, position).then((bytes) =>
        certifyErasure(ports, tombstones, bytes, () => loadSigningKey(ports.eventLog)),
      ),
    ));
  if (signed) await ofFile(path, () => writeWhole(path, signed));
  else
    writeLine(
      'The certificate cannot be created yet because the service has not completed the erasure. Run the command again later to write it.',
    );
}

function versionsOf(tombstones: RecordedEvent[]): number {
  return tombstones.reduce((total, { revision, data }) => total + revision + 1 - Number(data.parts), 0);
}

/** Number of erasures that are listed; the rest are counted. */
const NAMED = 20;

/** Returns lines that say how many events were erased, and by whom, when and why. */
export function erasureLines({ count: events, reported }: Verified['erased']): string[] {
  if (events === 0) return [];
  const named = reported
    .slice(-NAMED)
    .map(
      ({ stream, versions, reason, principal, erased_at }) =>
        `  ${erased_at} ${stream}, ${counted(versions, 'version')}, by ${principal.type} ${principal.id}: ${reason}`,
    );
  const left = reported.length - named.length;
  return [
    `${counted(events, 'event')} erased, as tombstones say:`,
    ...(left > 0 ? [`  ${counted(left, 'earlier erasure')}`] : []),
    ...named,
  ];
}

interface ResetOptions extends ScavengeOptions {
  confirm: string;
}

/** `chartledger workspaces reset` */
export function addResetCommand(workspaces: Command): void {
  const command = workspaces
    .command('reset')
    .description(
      'Empty a sandbox: permanently erase all of its records and documents. Its keys and webhooks remain, ' +
        'as do the audit trail and a tombstone for each record. The service must be running. If ' +
        'interrupted, run the command again to resume.',
    )
    .argument('<id>', 'the sandbox')
    .requiredOption('--confirm <id>', 'the id of the sandbox again');
  addScavengeOptions(command)
    .addHelpText('after', example('chartledger workspaces reset sandbox --confirm sandbox'))
    .action(reset);
}

async function reset(id: string, { confirm, ...options }: ResetOptions, command: Command): Promise<void> {
  checkScavengeOptions(options, command);
  if (confirm !== id) command.error('error: --confirm does not match the workspace; nothing was erased');
  await withErasure(id, async (ports, caller, workspace) => {
    const onBatch = (tally: RetentionTally) => terminal().stderr.write(`${erasedLine(tally)}\n`);
    const { position, ...tally } = await resetSandbox(ports, caller, workspace, onBatch);
    writeLine(erasedLine(tally));
    if (position !== undefined) await finishBytes(ports, position, options);
    const { held, referred_to, changed, unreadable } = tally;
    const kept = held + referred_to + changed + unreadable;
    if (kept > 0) {
      fail(
        `Kept: ${count(kept)}, of which under legal hold: ${count(held)}; referred to by those: ${count(referred_to)}; not to be read ` +
          `by this version: ${count(unreadable)}. Run the command again when that has changed.`,
      );
    }
  });
}

/** Returns how far erasures have got. */
export function erasedLine({ erased, encounters }: RetentionTally): string {
  return `Erased: ${count(erased)}. Encounters that went with patients: ${count(encounters)}.`;
}
