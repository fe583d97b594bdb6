import { readFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { LEAST_PASSPHRASE, readManifest } from '../../modules/backup/format.ts';
import { verifyBackup } from '../../modules/backup/verify.ts';
import { ServiceError } from '../../platform/errors.ts';
import { backUp, openKeys, repeatErasures, restore } from '../../server/backup.ts';
import { openBackupTarget } from '../../server/openStorage.ts';
import { terminal } from '../../server/terminal.ts';
import { ofFile } from '../lib/files.ts';
import { withLogBar } from '../lib/progress.ts';
import { ask, count, counted, example, fail, writeLine } from '../lib/terminal.ts';
import { readPublicKeys } from './verifyFile.ts';

interface PassphraseOptions {
  passphraseFile?: string;
}

/** Adds the option for where the passphrase of a backup's keys comes from. */
function addPassphraseOption(command: Command): Command {
  return command.addOption(
    new Option(
      '--passphrase-file <file>',
      'read the passphrase of the keys from the first line of this file (default: ask for it at the ' +
        'terminal)',
    ),
  );
}

/** Reads the passphrase of a backup; a new one is asked for twice. Rejects with `validation_failed` or `conflict`. */
async function readPassphrase(
  { passphraseFile: path }: PassphraseOptions,
  isChosen: boolean,
): Promise<string> {
  if (path !== undefined) {
    const text = await ofFile(path, () => readFile(path, 'utf8'));
    return text.split(/\r?\n/, 1)[0] as string;
  }
  if (!terminal().stdin.isTTY) {
    const message = 'There is no terminal to ask for the passphrase. Use --passphrase-file.';
    throw new ServiceError('validation_failed', message);
  }
  const least = isChosen ? ` (${LEAST_PASSPHRASE} characters or more)` : '';
  const passphrase = await ask(`Passphrase of the backup${least}: `);
  if (!isChosen || (await ask('The same again: ')) === passphrase) return passphrase;
  throw new ServiceError('validation_failed', 'The two passphrases differ.');
}

const BYTES_A_MB = 1_000_000;

async function takeOne(to: string, options: PassphraseOptions & { newPassphrase?: true }): Promise<void> {
  const isFirst = (await readManifest(await openBackupTarget(to))) === undefined;
  const isNewPassphrase = options.newPassphrase === true;
  const passphrase = await readPassphrase(options, isFirst || isNewPassphrase);
  const done = await withLogBar((onProgress) => backUp(to, { passphrase, isNewPassphrase, onProgress }));
  const { manifest, events, objects, bytes, erased, problems } = done;
  writeLine(
    `${counted(events, 'new event')}, ${counted(objects, 'new file')} of documents and messages (${(bytes / BYTES_A_MB).toFixed(1)} MB); ` +
      `the backup holds ${counted(manifest.events, 'event')}, up to position ${manifest.last_position}`,
  );
  if (erased > 0) writeLine(`taken out of the backup, as erased since: ${counted(erased, 'event')}`);
  for (const problem of problems) fail(problem);
}

async function verifyOne(from: string, options: PassphraseOptions & { publicKey?: string }): Promise<void> {
  const target = await openBackupTarget(from);
  const publicKeys =
    options.publicKey === undefined
      ? (await openKeys(target, await readPassphrase(options, false))).publicKeys
      : await readPublicKeys(options.publicKey);
  const { manifest, objects, problems } = await withLogBar((at) => verifyBackup(target, publicKeys, at));
  for (const problem of problems) fail(problem);
  if (problems.length > 0) return;
  writeLine(
    `The backup of ${manifest.created_at} holds: ${counted(manifest.events, 'event')}, up to position ${manifest.last_position}, ` +
      `in ${counted(manifest.trees.length, 'hash tree')}; ${counted(objects, 'file')} of documents and messages`,
  );
}

interface RestoreOptions extends PassphraseOptions {
  dataDir?: string;
  erasures?: string;
  allowMissingErasures?: true;
}

async function restoreOne(from: string, options: RestoreOptions): Promise<void> {
  const passphrase = await readPassphrase(options, false);
  const { manifest, dataDir, position, erasures } = await withLogBar((onProgress) =>
    restore(from, { ...options, dataDir: options.dataDir, passphrase, onProgress }),
  );
  writeLine(
    `Restored into ${dataDir}: ${counted(manifest.events, 'event')}, as they were at ${manifest.created_at}. ` +
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
  const done = await withLogBar((onProgress) => repeatErasures(place, { allowMissing, onProgress }));
  for (const problem of done.problems) writeLine(problem);
  writeLine(
    `Erased again, as notices of erasures say: ${count(done.erased)} records and documents. The notices cover all erasures up to ${done.asOf}.`,
  );
  if (done.erased > 0 && done.scavenges)
    writeLine('The files of the event log hold them until each of its nodes scavenges.');
}

/** `chartledger backup` */
export function addBackupCommand(program: Command): void {
  const backup = program
    .command('backup')
    .argument('<to>', 'a folder, or gs://BUCKET/PREFIX')
    .description(
      'Back up a service, even while it is running: events, documents, messages, the progress of webhooks, ' +
        'and the keys, sealed with a passphrase. An existing backup is brought up to date: new data is ' +
        'added, and data erased since is removed.',
    )
    .option('--new-passphrase', 'seal the keys with a new passphrase')
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
      'Verify every file of a backup by its digest, the events by their hash trees, and the signature of ' +
        'the backup.',
    )
    .option(
      '--public-key <file>',
      'the public key (PEM) that verifies the signature, instead of the one sealed in the backup',
    )
    .addHelpText('after', example('chartledger backup verify /mnt/backup'))
    .action(verifyOne);
  addPassphraseOption(verify);
}

/** `chartledger restore` */
export function addRestoreCommand(program: Command): void {
  const restoring = program
    .command('restore')
    .argument('<from>', 'a folder with a backup, or gs://BUCKET/PREFIX')
    .description(
      'Restore a backup into an empty data folder, for the embedded engines. The service does not start on ' +
        'it until the restore is complete; if interrupted, run it again.',
    )
    .option(
      '--data-dir <folder>',
      'the data folder for all stores (default: the stores that the settings name)',
    )
    .option(
      '--erasures <place>',
      'the location of the notices of erasures, a folder or gs://BUCKET/PREFIX: what was erased after the ' +
        'backup is erased again (default: HEADS_TO)',
    )
    .option('--allow-missing-erasures', 'restore even if notices of erasures are missing or invalid')
    .addHelpText('after', example('chartledger restore /mnt/backup --data-dir /var/lib/chartledger'))
    .action(restoreOne);
  addPassphraseOption(restoring);
  restoring
    .command('erasures')
    .argument('<place>', 'a folder with notices of erasures, or gs://BUCKET/PREFIX')
    .description(
      'After stores were restored to an earlier state by other means, repeat the erasures that notices ' +
        'report and that the event log does not contain. Run it before others can reach the service.',
    )
    .option('--allow-missing-erasures', 'repeat them even if notices are missing or invalid')
    .addHelpText('after', example('chartledger restore erasures /mnt/heads'))
    .action(repeatAll);
}
