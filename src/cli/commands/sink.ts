import { resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { termsOf } from '../../domain/events/payloads.ts';
import { parseTerms, withTerms } from '../../modules/audit/disclosureTerms.ts';
import { type EventView, eventViews } from '../../modules/eventStream/cloudEvents.ts';
import { consumerName } from '../../modules/eventStream/consumers.ts';
import { loadConfig } from '../../platform/config.ts';
import { ServiceError } from '../../platform/errors.ts';
import { withWorkspace } from '../../server/stores.ts';
import { terminal } from '../../server/terminal.ts';
import { keepWarehouse } from '../../server/warehouse.ts';
import { parseDuration } from '../lib/options.ts';
import { counted, example, untilInterrupted, writeLine } from '../lib/terminal.ts';
import { addTermOptions, type TermOptions, termsOfOptions } from '../lib/termOptions.ts';

const DEFAULT_PAUSE = 60;

interface SinkOptions extends TermOptions {
  workspace: string;
  view: EventView;
  follow?: boolean;
  consumer?: string;
  /** In seconds. */
  every: number;
}

function parseConsumer(text: string): string {
  const { error } = consumerName.safeParse(text);
  if (error === undefined) return text;
  throw new InvalidArgumentError(`It ${error.issues[0]?.message}.`);
}

/** `chartledger sink …` */
export function addSinkCommands(sink: Command): void {
  addSinkOptions(sink.command('parquet'))
    .description(
      'Write tables of a workspace as Parquet files into a folder: records and documents as they are and in each version, readiness, ' +
        'and who read what. A later run adds what was recorded since, and removes what was erased.',
    )
    .argument('<folder>', 'the folder of the warehouse; created if missing')
    .addHelpText(
      'after',
      example(
        'chartledger sink parquet warehouse --workspace clinic',
        'chartledger sink parquet research --workspace clinic --deidentified --follow',
      ),
    )
    .action((folder: string, options: SinkOptions) => run(resolve(folder), options));

  addSinkOptions(sink.command('postgres'))
    .description(
      'Write the same tables into a PostgreSQL database, in a schema named like the workspace; those of another view in one whose ' +
        'name ends with it, such as clinic_deidentified.',
    )
    .argument('<url>', 'the database; its password may be in PGPASSWORD or a password file')
    .addHelpText(
      'after',
      example(
        'chartledger sink postgres postgres://analyst@db.example.com/warehouse --workspace clinic',
        'chartledger sink postgres postgres://analyst@db.example.com/warehouse --workspace clinic --follow --every 10s',
      ),
    )
    .action((url: string, options: SinkOptions, command: Command) => {
      if (!/^postgres(?:ql)?:\/\//.test(url))
        command.error('error: the database must be a URL: postgres://HOST/DATABASE');
      return run(url, options);
    });
}

function addSinkOptions(command: Command): Command {
  return addTermOptions(
    command
      .requiredOption('--workspace <id>', 'the workspace')
      .addOption(
        new Option(
          '--view <view>',
          'what the tables show: everything; a limited data set (45 CFR 164.514(e)), which requires a data use agreement; or nothing ' +
            'that could identify a person. Only the full view has the table of accesses',
        )
          .choices(eventViews)
          .default('full'),
      )
      .addOption(
        new Option('--deidentified', 'the same as --view deidentified').implies({ view: 'deidentified' }),
      )
      .option(
        '--consumer <name>',
        'list it under this name among the consumers of the events, so that a delay raises an alert',
        parseConsumer,
      )
      .option('--follow', 'keep running, and add what is recorded')
      .option(
        '--every <time>',
        'with --follow, how long to wait before more is added (default: "1m")',
        parseDuration,
        DEFAULT_PAUSE,
      ),
  );
}

async function run(place: string, options: SinkOptions): Promise<void> {
  const { terms, others } = termsOfOptions(options);
  const disclosedTo = termsOf(parseTerms(terms));
  const { workspace, view, follow = false, every, consumer } = others;
  const config = loadConfig(terminal().env);
  await withWorkspace(workspace, async ({ eventLog, directory, caller }) => {
    let changes = 0;
    const write = async (signal?: AbortSignal) => {
      const isWritten = await keepWarehouse(config, { eventLog, directory }, withTerms(caller, disclosedTo), {
        place,
        view,
        consumer,
        ...(signal && { follow: { everyMs: every * 1_000, signal } }),
        onReached(position, rows) {
          changes += rows;
          if (follow && rows > 0) writeLine(`${counted(rows, 'change')}, up to position ${position}.`);
        },
      });
      if (!isWritten) throw new ServiceError('conflict', 'Another process is writing this warehouse.');
    };
    if (follow) await untilInterrupted(write);
    else await write();
    if (!follow) writeLine(changes === 0 ? 'Nothing has changed.' : `${counted(changes, 'change')} written.`);
  });
}
