import type { Command } from 'commander';
import { backUp } from '../../app/backup/backUp.ts';
import { repeatErasures } from '../../app/backup/repeatErasures.ts';
import { openKeys, restore } from '../../app/backup/restore.ts';
import { openBackupTarget } from '../../app/openBackend.ts';
import { terminal } from '../../app/terminal.ts';
import { readManifest } from '../../backup/format/manifest.ts';
import { verifyBackup } from '../../backup/verifyBackup.ts';
import { createLogProgress } from '../logProgress.ts';
import { count, example, fail, writeLine } from '../output.ts';
import { readPublicKeys } from '../signedFiles.ts';
import { addPassphraseOption, type PassphraseOptions, readPassphrase } from './readPassphrase.ts';

const BYTES_A_MB = 1_000_000;

/** What `work` gives, with a bar on the terminal for how far into the log it is. */
async function withBar<Result>(
  work: (onProgress: ReturnType<typeof createLogProgress>['at']) => Promise<Result>,
): Promise<Result> {
  const bar = createLogProgress(terminal().stderr.isTTY === true);
  return work(bar.at).finally(() => bar.stop());
}

async function takeOne(to: string, options: PassphraseOptions & { newPassphrase?: true }): Promise<void> {
  const isFirst = (await readManifest(await openBackupTarget(to))) === undefined;
  const isNewPassphrase = options.newPassphrase === true;
  const passphrase = await readPassphrase(options, isFirst || isNewPassphrase);
  const done = await withBar((onProgress) => backUp(to, { passphrase, isNewPassphrase, onProgress }));
  const { manifest, events, objects, bytes, erased, problems } = done;
  writeLine(
    `${count(events)} new events, ${count(objects)} new documents and messages (${(bytes / BYTES_A_MB).toFixed(1)} MB); ` +
      `the backup holds ${count(manifest.events)} events, up to position ${manifest.last_position}`,
  );
  if (erased > 0) writeLine(`${count(erased)} events that were erased since were taken out of the backup`);
  for (const problem of problems) fail(problem);
}

async function verifyOne(from: string, options: PassphraseOptions & { publicKey?: string }): Promise<void> {
  const target = await openBackupTarget(from);
  const publicKeys =
    options.publicKey === undefined
      ? (await openKeys(target, await readPassphrase(options, false))).publicKeys
      : await readPublicKeys(options.publicKey);
  const { manifest, objects, problems } = await withBar((at) => verifyBackup(target, publicKeys, at));
  for (const problem of problems) fail(problem);
  if (problems.length > 0) return;
  writeLine(
    `The backup of ${manifest.created_at} holds: ${count(manifest.events)} events, up to position ${manifest.last_position}, ` +
      `in ${count(manifest.trees.length)} hash trees; ${count(objects)} documents and messages`,
  );
}

interface RestoreOptions extends PassphraseOptions {
  dataDir?: string;
  erasures?: string;
  allowMissingErasures?: true;
}

async function restoreOne(from: string, options: RestoreOptions): Promise<void> {
  const passphrase = await readPassphrase(options, false);
  const { manifest, dataDir, position, erasures } = await withBar((onProgress) =>
    restore(from, { ...options, dataDir: options.dataDir, passphrase, onProgress }),
  );
  writeLine(
    `Restored into ${dataDir}: ${count(manifest.events)} events, as they were at ${manifest.created_at}. ` +
      `The log ends at position ${manifest.last_position} and goes on at ${position}.`,
  );
  for (const problem of erasures?.problems ?? []) writeLine(problem);
  if (erasures)
    writeLine(`Erased again, as notices of erasures say: ${count(erasures.erased)} records and documents.`);
  const isWhole = erasures?.problems.length === 0;
  writeLine(
    `What was erased after ${isWhole ? erasures.asOf : manifest.created_at} ${isWhole ? 'is' : 'may be'} in it again: ` +
      'erase it before the service is reached by others.',
  );
}

async function repeatAll(place: string, options: { allowMissingErasures?: true }): Promise<void> {
  const allowMissing = options.allowMissingErasures === true;
  const done = await withBar((onProgress) => repeatErasures(place, { allowMissing, onProgress }));
  for (const problem of done.problems) writeLine(problem);
  writeLine(
    `Erased again, as notices of erasures say: ${count(done.erased)} records and documents. They tell of all erasures up to ${done.asOf}.`,
  );
  if (done.erased > 0 && done.scavenges)
    writeLine('The files of the event log hold them until each of its nodes scavenges.');
}

/** `chartledger backup`, `chartledger restore` */
export function addBackupCommands(program: Command): void {
  const backup = program
    .command('backup')
    .argument('<to>', 'a folder, or gs://BUCKET/PREFIX')
    .description(
      'Back up a service, also while it runs: events, documents, messages, how far webhooks are, and the ' +
        'keys, sealed with a passphrase. A place that holds a backup already is brought up to date: what is new is ' +
        'written, what was erased since is taken out.',
    )
    .option('--new-passphrase', 'seal the keys with another passphrase than before')
    .addHelpText(
      'after',
      example(
        'chartledger backup /mnt/backup --passphrase-file /etc/chartledger/passphrase',
        'chartledger backup gs://clinic-backups/chartledger --passphrase-file /etc/chartledger/passphrase',
      ),
    )
    .action(takeOne);
  addPassphraseOption(backup);
  const verify = backup
    .command('verify')
    .argument('<from>', 'a folder, or gs://BUCKET/PREFIX')
    .description(
      'Check every file of a backup by its digest, the events by their hash trees, and the signature of it all.',
    )
    .option('--public-key <file>', 'the key that checks the signature (PEM), instead of the sealed one')
    .addHelpText('after', example('chartledger backup verify /mnt/backup'))
    .action(verifyOne);
  addPassphraseOption(verify);
  const restoring = program
    .command('restore')
    .argument('<from>', 'a folder with a backup, or gs://BUCKET/PREFIX')
    .description(
      'Restore a backup into an empty data folder, for the embedded engines. The service does not start on it before all is there; cut off, run it again.',
    )
    .option(
      '--data-dir <folder>',
      'the data folder, with all stores in it (default: as the settings name them)',
    )
    .option(
      '--erasures <place>',
      'where notices of erasures are, a folder or gs://BUCKET/PREFIX: what was erased after the backup is erased again (default: HEADS_TO)',
    )
    .option('--allow-missing-erasures', 'restore also where notices of erasures are missing or do not hold')
    .addHelpText('after', example('chartledger restore /mnt/backup --data-dir /var/lib/chartledger'))
    .action(restoreOne);
  addPassphraseOption(restoring);
  restoring
    .command('erasures')
    .argument('<place>', 'a folder with notices of erasures, or gs://BUCKET/PREFIX')
    .description(
      'Where stores were put back to an earlier state by other means: carry out again the erasures of which notices tell and which the ' +
        'event log does not know. Do it before others reach the service.',
    )
    .option('--allow-missing-erasures', 'do it also where notices are missing or do not hold')
    .addHelpText('after', example('chartledger restore erasures /mnt/heads'))
    .action(repeatAll);
}
