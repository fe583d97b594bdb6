import { readFile } from 'node:fs/promises';
import { parseEnv } from 'node:util';
import type { Command } from 'commander';
import { misspeltSettings } from '../../platform/settingsSpelling.ts';
import { migrate, rehearseMigration } from '../../server/migrate.ts';
import { ofFile } from '../lib/files.ts';
import { withLogBar } from '../lib/progress.ts';
import { count, counted, example, fail, writeLine } from '../lib/terminal.ts';

const BYTES_A_MB = 1_000_000;

async function migrateTo(file: string, { dryRun = false }: { dryRun?: boolean }): Promise<void> {
  const env = parseEnv(await ofFile(file, () => readFile(file, 'utf8')));
  for (const { name, meant } of misspeltSettings(env))
    writeLine(`${name} in ${file} is not a setting; did you mean ${meant}?`);
  const settings = { file, env };
  const { isComplete, ...done } = await withLogBar(async (onProgress) =>
    dryRun
      ? { ...(await rehearseMigration(settings, onProgress)), isComplete: undefined }
      : migrate(settings, onProgress),
  );
  const { events, objects, bytes, problems } = done;
  for (const problem of problems) fail(problem);
  const copied = `${counted(events, 'event')}, ${count(objects)} documents and messages (${(bytes / BYTES_A_MB).toFixed(1)} MB)`;
  if (isComplete === undefined) {
    writeLine(`The move would copy ${copied}. The new stores are empty. Nothing was written.`);
    return;
  }
  writeLine(`Copied: ${copied}.`);
  if (isComplete) writeLine(`The move is complete: start the service with the settings in ${file}.`);
  else
    fail(
      'The service is running, so the move is not complete. Stop all of its processes, and run this again: only what is new is copied.',
    );
}

/** `chartledger migrate` */
export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .argument('<to>', 'a file with the settings of the service to move to, in the form of .env.example')
    .description(
      'Move a service to empty stores of other engines, such as from SQLite to EventStoreDB, MongoDB and ' +
        'Google Cloud Storage, or back: events, documents, messages, the progress of webhooks, and the keys. ' +
        'While the service is running, all that it holds is copied; the move is completed by a run after it ' +
        'was stopped. If interrupted, run it again.',
    )
    .option('--dry-run', 'count what would be copied, and check the new stores, without writing anything')
    .addHelpText(
      'after',
      example('chartledger migrate cluster.env --dry-run', 'chartledger migrate cluster.env'),
    )
    .action(migrateTo);
}
