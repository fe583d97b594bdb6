import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Command } from 'commander';
import { z } from 'zod';
import { terminal } from '../../server/terminal.ts';
import { addServiceOptions, type ServiceOptions, serviceClient } from '../lib/client.ts';
import { ofFile } from '../lib/files.ts';
import {
  CommandError,
  counted,
  example,
  FAILED,
  fittingLine,
  print,
  printable,
  untilInterrupted,
} from '../lib/terminal.ts';

interface ReconcileOptions extends ServiceOptions {
  missingThere?: string;
  json?: boolean;
}

const lineSchema = z.looseObject({
  line: z.number().optional(),
  kind: z.string().nullish(),
  id: z.string().nullish(),
  outcome: z.string().optional(),
  different_fields: z.array(z.string()).optional(),
  merged_into: z.string().optional(),
  error: z.string().optional(),
  summary: z.record(z.string(), z.number().nullable()).optional(),
});
type Line = z.infer<typeof lineSchema>;

async function reconcile(file: string, options: ReconcileOptions, command: Command): Promise<void> {
  const { missingThere, json, ...service } = options;
  await ofFile(file, async () => (await open(file)).close());
  await untilInterrupted(async (signal) => {
    const client = await serviceClient(command, service, signal);
    const response = await client.get('/integration/reconcile', {
      query: { same: json ? 'list' : 'omit', missing_there: missingThere },
      lines: () => createReadStream(file),
      accept: '*/*',
    });
    await print(texts(client.linesOf(response), json === true));
  });
}

/** Yields a line for each line of a response; sets the exit code where something is not the same. */
async function* texts(lines: AsyncIterable<string>, isJson: boolean): AsyncGenerator<string> {
  let summary: Line['summary'];
  for await (const text of lines) {
    const line = lineSchema.parse(JSON.parse(text));
    summary = line.summary;
    if (isJson) yield `${text}\n`;
    else if (summary === undefined) yield textOf(line);
  }
  if (summary === undefined) throw new CommandError('The response was cut off. Run the command again.');
  const { lines: compared = 0, ...counts } = summary;
  if (counts.same !== compared || (counts.missing_there ?? 0) > 0) terminal().exitCode = FAILED;
  if (isJson) return;
  const named = Object.entries(counts)
    .filter(([outcome, count]) => outcome === 'same' || count !== 0)
    .map(
      ([outcome, count]) => `${(count ?? 'unknown').toLocaleString('en-US')} ${outcome.replace('_', ' ')}`,
    );
  yield `${counted(compared ?? 0, 'line')}: ${named.join(', ')}\n`;
}

function textOf({ line, kind, id, outcome, different_fields, merged_into, error }: Line): string {
  const about = [different_fields?.join(', '), merged_into && `merged into ${merged_into}`, error];
  const cells = [
    (outcome ?? '').replace('_', ' ').padEnd(13),
    line === undefined ? '' : `line ${line}`,
    printable(`${kind ?? '?'} ${id ?? '?'}`),
    ...about.filter((text) => text).map((text) => printable(String(text))),
  ];
  return fittingLine(cells.filter((cell) => cell !== '').join('  '));
}

/** `chartledger reconcile` */
export function addReconcileCommand(program: Command): void {
  addServiceOptions(
    program
      .command('reconcile')
      .description(
        'Compare the records of a workspace with those of another system. Nothing is written. Exits with 1 if something is not the ' +
          'same. The comparison is recorded in the audit trail.',
      )
      .argument('<file>', 'JSON Lines: {kind, id, version, digest} or {kind, record}'),
    'read',
  )
    .option('--missing-there <kinds>', 'also list the records of these kinds that the file does not name')
    .option('--json', "print the service's response, a line of JSON for each record")
    .addHelpText(
      'after',
      example(
        'export CHARTLEDGER_API_KEY=clk_…',
        'chartledger reconcile emr.ndjson --missing-there patient,encounter',
      ),
    )
    .action(reconcile);
}
