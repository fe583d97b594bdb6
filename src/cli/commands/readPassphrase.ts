import { readFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { LEAST_PASSPHRASE } from '../../modules/backup/sealedKeys.ts';
import { ServiceError } from '../../platform/errors.ts';
import { terminal } from '../../server/terminal.ts';
import { ofFile } from '../lib/ofFile.ts';
import { ask } from '../lib/readPassword.ts';

export interface PassphraseOptions {
  passphraseFile?: string;
}

/** Adds the option for where the passphrase of a backup's keys comes from. */
export function addPassphraseOption(command: Command): Command {
  return command.addOption(
    new Option(
      '--passphrase-file <file>',
      'read the passphrase of the keys from the first line of this file (default: ask for it at the ' +
        'terminal)',
    ),
  );
}

/** Reads the passphrase of a backup; a new one is asked for twice. Rejects with `validation_failed` or `conflict`. */
export async function readPassphrase(
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
