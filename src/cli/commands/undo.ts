import { type Command, Option } from 'commander';
import { recordedParts, undoList } from '../../modules/audit/changes.ts';
import {
  type UndoAction,
  type UndoneField,
  type UndoneRecord,
  undoActions,
  undoActionTexts,
} from '../../modules/records/commands/undo.ts';
import type { WriteSelection } from '../../modules/records/queries/selectedWrites.ts';
import { terminal } from '../../server/terminal.ts';
import { withIngest } from '../../server/withIngest.ts';
import {
  counted,
  endWithReader,
  example,
  FAILED,
  printable,
  writeLine,
  writePaced,
} from '../lib/terminal.ts';
import { addWriteSelection, type WriteSelectionOptions, writeSelectionOf } from '../lib/writeSelection.ts';

interface UndoOptions extends WriteSelectionOptions {
  key?: string;
  user?: string;
  json?: boolean;
}

/** `chartledger undo …` */
export function addUndoCommands(undo: Command): void {
  addSelection(undo.command('plan', { isDefault: true }))
    .description(
      'Show what undoing the selected writes would do to each record and document: the values from before, what stays because ' +
        'others wrote since, and what cannot be undone. Writes nothing. The values are shown; this is recorded in the audit trail.',
    )
    .addHelpText(
      'after',
      example(
        'chartledger undo plan --workspace clinic --key key_4fTq9LmZs2Xw8RbC --since 2026-11-24T09:00:00Z --until 2026-11-24T10:00:00Z',
      ),
    )
    .action((options: UndoOptions, command: Command) => run(options, selectionOf(options, command), true));

  addSelection(undo.command('apply'))
    .description(
      'Undo the selected writes: by one more version of each record, which has the values from before. What others wrote since ' +
        'stays. Encounters that the writes created are voided; other records that they created stay. To undo the undo, select ' +
        'its request. If interrupted, run the command again to complete it.',
    )
    .addHelpText(
      'after',
      example(
        'chartledger undo apply --workspace clinic --key key_4fTq9LmZs2Xw8RbC --since 2026-11-24T09:00:00Z --until 2026-11-24T10:00:00Z',
        'chartledger undo apply --workspace clinic --request 019cec3f-5f5b-7000-8000-000000000001',
      ),
    )
    .action((options: UndoOptions, command: Command) => run(options, selectionOf(options, command), false));
}

function addSelection(command: Command): Command {
  command
    .requiredOption('--workspace <id>', 'the workspace')
    .addOption(new Option('--key <id>', 'only writes with this API key').conflicts('user'))
    .option('--user <id>', 'only writes of this user of the dashboard');
  return addWriteSelection(command).option('--json', 'print a JSON array');
}

function selectionOf(options: UndoOptions, command: Command): WriteSelection {
  return writeSelectionOf(command, options, options.key ?? options.user, '--key, --user');
}

async function run(options: UndoOptions, selection: WriteSelection, dryRun: boolean): Promise<void> {
  const { workspace, json = false } = options;
  const counts = new Map<UndoAction, number>();
  await withIngest(workspace, async ({ ports, caller }) => {
    if (dryRun) endWithReader();
    else terminal().stderr.write(`Undoing in request ${caller.requestId}.\n`);
    const waves = await recordedParts(ports, caller, undoList(ports, caller, selection, { dryRun }));
    let isFirst = true;
    if (json) await writePaced('[');
    for await (const wave of waves) {
      for (const one of wave) {
        counts.set(one.action, (counts.get(one.action) ?? 0) + 1);
        await writePaced(json ? `${isFirst ? '' : ','}\n  ${JSON.stringify(viewOf(one))}` : textOf(one));
        isFirst = false;
      }
    }
    if (json) await writePaced('\n]\n');
    else {
      for (const action of undoActions) {
        const number = counts.get(action);
        if (number) writeLine(`${action.padEnd(8)}${counted(number, 'record')}`);
      }
      if (counts.size === 0) writeLine('There is nothing to undo.');
    }
  });
  if (!dryRun && counts.has('blocked')) terminal().exitCode = FAILED;
}

/** Returns the form in JSON. */
const viewOf = ({ versions, first: _first, ...one }: UndoneRecord) => ({
  ...one,
  undone: versions.map(({ version }) => version),
});

function textOf({ kind, id, document_id, version, action, fields, problem }: UndoneRecord): string {
  const name = [id, ...(document_id === undefined ? [] : [document_id])]
    .map((text) => printable(text))
    .join(' ');
  const reason = problem === undefined ? '' : `: ${printable(problem)}`;
  return [
    `${kind} ${name}, version ${version}: ${undoActionTexts[action]}${reason}`,
    ...fields.map(fieldText),
  ]
    .map((line) => `${line}\n`)
    .join('');
}

function fieldText({ field, from, to, action, by }: UndoneField): string {
  if (action === 'revert') return `  ${field}: ${JSON.stringify(to)} ← ${JSON.stringify(from)}`;
  const why = by
    ? `since version ${by.version} by ${by.principal.type} ${printable(by.principal.id)}`
    : 'required';
  return `  ${field}: stays ${JSON.stringify(from)}, ${why}`;
}
