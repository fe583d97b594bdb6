import type { Command } from 'commander';
import { z } from 'zod';
import { endWithReader, example, printable, writePaced } from '../lib/output.ts';
import { serviceClient } from '../lib/serviceOptions.ts';
import { untilInterrupted } from '../lib/untilInterrupted.ts';
import { EventFollower } from './EventFollower.ts';
import { addStreamOptions, type StreamOptions } from './streamOptions.ts';

const shownSchema = z.object({
  time: z.string(),
  type: z.string(),
  subject: z.string(),
  data: z.object({ version: z.number() }),
});

interface TailOptions extends StreamOptions {
  json?: boolean;
}

/** Formats an event for display. */
function lineOf(position: string, json: string): string {
  const { time, type, subject, data } = shownSchema.parse(JSON.parse(json));
  return printable([time, type, subject, `version ${data.version}`, position].join('  '));
}

async function tail({ json = false, ...options }: TailOptions, command: Command): Promise<void> {
  endWithReader();
  await untilInterrupted(async (signal) => {
    const client = await serviceClient(command, options, signal);
    const follower = new EventFollower(client, { from: options.from, types: options.types });
    for await (const event of follower.events(signal)) {
      await writePaced(`${json ? event.json : lineOf(event.position, event.json)}\n`);
    }
  });
}

/** `chartledger events …` */
export function addEventsCommands(program: Command): void {
  const events = program.command('events').description('The event stream of a running service.');
  addStreamOptions(
    events
      .command('tail')
      .description(
        'Print each event as it is recorded: its time, type, subject, version and position. Reconnects ' +
          'automatically if the connection is lost. Press Ctrl-C to stop.',
      ),
  )
    .option('--json', 'print complete events, one per line of JSON (a CloudEvent)')
    .addHelpText(
      'after',
      example(
        'export CHARTLEDGER_API_KEY=clk_…',
        'chartledger events tail',
        'chartledger events tail --from start --types chartledger.patient.upserted.v1 --json',
      ),
    )
    .action(tail);
}
