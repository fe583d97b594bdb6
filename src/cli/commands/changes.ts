import type { Command } from 'commander';
import {
  type ChangeFormat,
  changeFormats,
  changesList,
  changesText,
  recordedParts,
} from '../../modules/audit/changes.ts';
import type { ChangedRecord } from '../../modules/records/queries/changes.ts';
import { withReadModels, withWorkspace } from '../../server/stores.ts';
import { addFormatOptions } from '../lib/options.ts';
import { example, fail, print, printable } from '../lib/terminal.ts';
import { addWriteSelection, type WriteSelectionOptions, writeSelectionOf } from '../lib/writeSelection.ts';

interface ChangesOptions extends WriteSelectionOptions {
  principal?: string;
  format: ChangeFormat;
}

/** Yields records as they come; the command fails for each that cannot be read, and goes on. */
export async function* reportUnreadable(
  parts: AsyncIterable<ChangedRecord[]>,
): AsyncGenerator<ChangedRecord[]> {
  for await (const records of parts) {
    for (const { kind, id, document_id = '', unreadable } of records)
      if (unreadable)
        fail(`${printable(`${kind} ${id} ${document_id}`.trimEnd())} has an event that cannot be read.`);
    yield records;
  }
}

async function showChanges(options: ChangesOptions, command: Command): Promise<void> {
  const { workspace, principal, format } = options;
  const selection = writeSelectionOf(command, options, principal, '--principal');
  await withWorkspace(workspace, ({ eventLog, names, caller }) =>
    withReadModels(async (readModels) => {
      const list = changesList(eventLog, caller, selection);
      const parts = await recordedParts({ eventLog, readModels }, caller, list);
      await print(changesText(reportUnreadable(parts), names, format));
    }),
  );
}

/** `chartledger changes` */
export function addChangesCommand(program: Command): void {
  const command = program
    .command('changes')
    .description(
      'Show what a key, user, source or request changed: each field with its value before and after, and whether somebody else ' +
        'wrote it since. It is what `undo` would have to revert. The values are shown; this is recorded in the audit trail.',
    )
    .requiredOption('--workspace <id>', 'the workspace')
    .option('--principal <id>', 'only writes of the key, user or operator with this id');
  addFormatOptions(
    addWriteSelection(command),
    changeFormats,
    'csv: one line per field; json: one array',
    'csv',
  )
    .addHelpText(
      'after',
      example(
        'chartledger changes --workspace clinic --principal key_4fTq9LmZs2Xw8RbC --since 2026-11-24 --until 2026-11-25 > changes.csv',
      ),
    )
    .action(showChanges);
}
