import { type Command, Option } from 'commander';
import { subjectKinds } from '../../domain/records/catalog.ts';
import { recordAccess, recordFurtherAccess } from '../../modules/audit/recordAccess.ts';
import {
  type UndoAction,
  type UndoneField,
  type UndoneRecord,
  type UndoSelection,
  undoActions,
  undoWrites,
} from '../../modules/records/commands/undo.ts';
import { terminal } from '../../server/terminal.ts';
import { withIngest } from '../../server/withIngest.ts';
import { parseInstant } from '../lib/options.ts';
import {
  counted,
  endWithReader,
  example,
  FAILED,
  printable,
  writeLine,
  writePaced,
} from '../lib/terminal.ts';

interface UndoOptions {
  workspace: string;
  key?: string;
  user?: string;
  source?: string;
  request?: string;
  since?: string;
  until?: string;
  kind?: string;
  json?: boolean;
}

const actionTexts: Record<UndoAction, string> = {
  revert: 'with values from before',
  void: 'voided, as it was created',
  remove: 'removed, as before',
  created: 'was created, and stays',
  keep: 'stays, as others wrote since',
  blocked: 'cannot be undone',
};

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
  return command
    .requiredOption('--workspace <id>', 'the workspace')
    .addOption(new Option('--key <id>', 'only writes with this API key').conflicts('user'))
    .option('--user <id>', 'only writes of this user of the dashboard')
    .option('--source <id>', 'only writes from messages of this source')
    .option('--request <id>', 'only writes of this request: a batch, or an earlier undo')
    .option('--since <time>', 'only writes recorded at this time or later (ISO 8601)', parseInstant)
    .option('--until <time>', 'only writes recorded before this time (ISO 8601)', parseInstant)
    .addOption(new Option('--kind <kind>', 'only records of one kind, or documents').choices(subjectKinds))
    .option('--json', 'print a JSON array');
}

/** Ends with a usage error for a selection that names nothing: it would undo everything. */
function selectionOf(options: UndoOptions, command: Command): UndoSelection {
  const { key, user, source, request, since, until, kind } = options;
  if ([key, user, source, request, since].every((one) => one === undefined))
    command.error('error: select the writes with --key, --user, --source, --request or --since');
  const [type, id] = key === undefined ? (['user', user] as const) : (['api_key', key] as const);
  return {
    ...(id !== undefined && { principal: { type, id } }),
    ...(source !== undefined && { source }),
    ...(request !== undefined && { request }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(kind !== undefined && { kinds: [kind] }),
  };
}

async function run(options: UndoOptions, selection: UndoSelection, dryRun: boolean): Promise<void> {
  const { workspace: _, json = false, ...query } = options;
  const counts = new Map<UndoAction, number>();
  await withIngest(options.workspace, async ({ ports, caller }) => {
    if (dryRun) endWithReader();
    const access = { action: 'record.undo', query } as const;
    await recordAccess(ports.eventLog, caller, access);
    // The writes have ids of their own: the access has that of the request.
    let isFirst = true;
    if (json) await writePaced('[');
    for await (const wave of undoWrites(ports, caller, selection, { dryRun })) {
      for (const [kind, shown] of Map.groupBy(wave, (one) => one.kind)) {
        const ranges = shown.flatMap(({ undone }) =>
          undone.map(({ position }) => ({ from: position, to: position })),
        );
        await recordFurtherAccess(ports.eventLog, caller, {
          ...access,
          kind,
          shown: { ranges, count: shown.length },
        });
      }
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
      else if (!dryRun) writeLine(`Undone by request ${caller.requestId}.`);
    }
  });
  if (!dryRun && counts.has('blocked')) terminal().exitCode = FAILED;
}

/** Returns the form in JSON. */
const viewOf = ({ undone, ...one }: UndoneRecord) => ({
  ...one,
  undone: undone.map(({ version }) => version),
});

function textOf({ kind, id, document_id, version, action, fields, problem }: UndoneRecord): string {
  const name = [id, ...(document_id === undefined ? [] : [document_id])]
    .map((text) => printable(text))
    .join(' ');
  const reason = problem === undefined ? '' : `: ${printable(problem)}`;
  return [`${kind} ${name}, version ${version}: ${actionTexts[action]}${reason}`, ...fields.map(fieldText)]
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
