import { type Command, Option } from 'commander';
import { differenceSelection } from '../../api/routes/differences.ts';
import { subjectKinds } from '../../domain/records/catalog.ts';
import { changeFormats } from '../../modules/audit/changes.ts';
import {
  type DifferenceCounts,
  type Differences,
  differencesText,
  differenceView,
  recordedDifferences,
  sendersOf,
} from '../../modules/audit/differences.ts';
import type { ChangedRecord, DifferenceSelection } from '../../modules/records/queries/changes.ts';
import type { PrincipalNames } from '../../modules/records/queries/principalNames.ts';
import { withCurrentModels, withReadModels, withWorkspace } from '../../server/stores.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { addFormatOptions, parseMoment } from '../lib/options.ts';
import { addOutOptions, type OutOptions, requireOut, writeReport } from '../lib/reportFile.ts';
import { counted, example, fittingLine, print, printable } from '../lib/terminal.ts';
import { reportUnreadable } from './changes.ts';

const formats = ['table', ...changeFormats] as const;

interface DiffOptions extends OutOptions {
  workspace: string;
  since: string;
  until?: string;
  kind?: string;
  principal?: string;
  source?: string;
  request?: string;
  format: (typeof formats)[number];
}

async function showDiff(options: DiffOptions, command: Command): Promise<void> {
  const { workspace, format, out, force: _force, ...query } = options;
  const selection = differenceSelection(query);
  await requireOut(options, command);
  await withWorkspace(workspace, ({ eventLog, names, caller }) => {
    const show = async (readModels: ReadModels) => {
      const ports = { eventLog, readModels };
      const { counts, parts } = await recordedDifferences(ports, caller, selection);
      const compared = { counts, parts: () => reportUnreadable(parts()) };
      const texts =
        format === 'table'
          ? tableOf(compared, names, selection)
          : differencesText(compared, names, selection, format);
      if (out === undefined) return print(texts);
      await writeReport(ports, { workspace, report: 'diff', query: { ...selection, format } }, out, texts);
    };
    // The manifest is based on read models.
    return out === undefined ? withReadModels(show) : withCurrentModels(eventLog, show);
  });
}

async function* tableOf(
  compared: Differences,
  names: PrincipalNames,
  { since, until }: DifferenceSelection,
): AsyncGenerator<string> {
  const nameOf = names.nameOf.bind(names);
  const counts = await compared.counts();
  await names.learn(counts.principals);
  yield countsText(counts.view(nameOf), since, until);
  for await (const records of compared.parts()) {
    await names.learn(sendersOf(records));
    for (const record of records) yield tableText(record, nameOf);
  }
}

type NameOf = PrincipalNames['nameOf'];

function countsText(
  { records, fields, senders }: ReturnType<DifferenceCounts['view']>,
  since: string,
  until: string,
): string {
  const kinds = Object.entries(records).map(([kind, counts]) => {
    const some = Object.entries(counts).filter(([, count]) => count > 0);
    return `${kind.padEnd(10)}${some.map(([what, count]) => `${count} ${what}`).join(', ')}`;
  });
  const changed = Object.entries(fields).map(([field, count]) => `${String(count).padStart(7)}  ${field}`);
  const by = senders.map(
    (one) =>
      `${String(one.fields).padStart(7)}  ${one.principal.type} ${printable(one.principal.name ?? one.principal.id)}, in ${counted(one.records, 'record')}`,
  );
  const part = (title: string, lines: string[]) => (lines.length === 0 ? [] : ['', title, ...lines]);
  return [
    `${since} to ${until}`,
    ...(kinds.length === 0 ? ['There is no difference.'] : kinds),
    ...part('Changed fields', changed),
    ...part('Fields by the sender of the last write', by),
    '',
  ]
    .map((line) => fittingLine(line))
    .join('');
}

function tableText(record: ChangedRecord, nameOf: NameOf): string {
  const { kind, id, document_id, change, erasure, fields } = differenceView(record, nameOf);
  const name = [id, document_id].flatMap((text) => (text === undefined ? [] : printable(text))).join(' ');
  const by = ({
    version,
    principal,
  }: {
    version: number;
    principal: { type: string; id: string; name: string | null };
  }) => `version ${version} by ${principal.type} ${printable(principal.name ?? principal.id)}`;
  const lines = fields.map(
    (one) => `  ${one.field}: ${JSON.stringify(one.from)} → ${JSON.stringify(one.to)}, ${by(one)}`,
  );
  return [`${kind} ${name}: ${change}${erasure ? `, ${by(erasure)}` : ''}`, ...lines]
    .map((line) => fittingLine(line))
    .join('');
}

/** `chartledger diff` */
export function addDiffCommand(program: Command): void {
  const command = program
    .command('diff')
    .description(
      'Show what is different in a workspace between two moments: counts by kind, field and sender, then each record with the ' +
        'values at both. Only the result counts: a field that was changed and changed back is no difference. The values are shown; ' +
        'this is recorded in the audit trail.',
    )
    .requiredOption('--workspace <id>', 'the workspace')
    .requiredOption('--since <time>', 'the earlier moment: an ISO 8601 date or date-time', parseMoment)
    .option('--until <time>', 'the later moment (default: now)', parseMoment)
    .addOption(new Option('--kind <kind>', 'only records of one kind, or documents').choices(subjectKinds))
    .option(
      '--principal <id>',
      'only fields whose last write in between is by the key, user or operator with this id',
    )
    .option('--source <id>', 'only fields whose last write in between is from a message of this source')
    .option('--request <id>', 'only fields whose last write in between is of this request');
  addFormatOptions(
    addOutOptions(command),
    formats,
    'table, cut to the width of the terminal; csv, one line per field, without the counts; json, one object',
    'table',
  )
    .addHelpText(
      'after',
      example(
        'chartledger diff --workspace clinic --since 2026-10-01 --until 2026-11-01',
        'chartledger diff --workspace clinic --since 2026-10-01 --until 2026-11-01 --kind patient --format csv --out october.csv',
      ),
    )
    .action(showDiff);
}
