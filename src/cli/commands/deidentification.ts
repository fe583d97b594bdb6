import { createReadStream } from 'node:fs';
import { type Command, Option } from 'commander';
import {
  type DateChoice,
  type DeidentificationSettings,
  dateChoices,
  methodOf,
  readDeidentification,
  setDeidentification,
  shownSettings,
} from '../../modules/eventStream/deidentificationSettings.ts';
import { readZipAreas } from '../../modules/eventStream/zipAreas.ts';
import { withWorkspace } from '../../server/stores.ts';
import { ofFile } from '../lib/files.ts';
import { CommandError, counted, example, printable, writeJson, writeLine } from '../lib/terminal.ts';

const methods = {
  safe_harbor: 'Safe Harbor (45 CFR 164.514(b)(2))',
  expert_determination: 'Expert Determination (45 CFR 164.514(b)(1)), not Safe Harbor',
};

function summaryOf(settings: DeidentificationSettings): string[] {
  const { determination, zipAreas } = settings;
  const dates =
    determination === null
      ? 'only their years are shown'
      : 'those of a patient are earlier by the same secret number of days';
  return [
    `Method: ${methods[methodOf(settings)]}`,
    `Dates: ${dates}`,
    ...(determination === null ? [] : [`Determination: ${printable(determination)}`]),
    zipAreas.size === 0
      ? 'ZIP codes: left out'
      : `ZIP codes: the first three digits in ${counted(zipAreas.size, 'area')}, 000 in others`,
  ];
}

interface SetOptions {
  workspace: string;
  dates?: DateChoice;
  determination?: string;
  zipAreas?: string;
  withoutZipAreas?: boolean;
}

async function set({
  workspace,
  dates,
  determination,
  zipAreas,
  withoutZipAreas,
}: SetOptions): Promise<void> {
  if (dates === undefined && zipAreas === undefined && !withoutZipAreas)
    throw new CommandError('Name what to set: --dates, --zip-areas or --without-zip-areas.');
  const areas =
    zipAreas === undefined
      ? undefined
      : await ofFile(zipAreas, () => readZipAreas(createReadStream(zipAreas)));
  await withWorkspace(workspace, async ({ eventLog, caller }) => {
    const zip_areas = withoutZipAreas ? [] : areas;
    await setDeidentification(eventLog, caller, { dates, determination, zip_areas });
    for (const line of summaryOf(await readDeidentification(eventLog, workspace))) writeLine(line);
    writeLine('This applies to the events that are recorded from now on.');
  });
}

/** `chartledger deidentification …` */
export function addDeidentificationCommands(deidentification: Command): void {
  deidentification
    .command('show')
    .description('Show how the de-identified view of a workspace is made, and by which method of HIPAA.')
    .requiredOption('--workspace <id>', 'the workspace')
    .option('--json', 'print a JSON object')
    .addHelpText('after', example('chartledger deidentification show --workspace clinic'))
    .action(({ workspace, json }: { workspace: string; json?: boolean }) =>
      withWorkspace(workspace, async ({ eventLog }) => {
        const settings = await readDeidentification(eventLog, workspace);
        if (json) writeJson(shownSettings(settings));
        else for (const line of summaryOf(settings)) writeLine(line);
      }),
    );
  deidentification
    .command('set')
    .description(
      'Set how the de-identified view of a workspace is made, for the events that are recorded from then on. Options that are not ' +
        'given keep their values.',
    )
    .requiredOption('--workspace <id>', 'the workspace')
    .addOption(
      new Option(
        '--dates <choice>',
        'years (Safe Harbor), or shifted: all dates of a patient earlier by the same secret number of days (Expert Determination)',
      ).choices(dateChoices),
    )
    .option(
      '--determination <text>',
      'with shifted: the expert determination that they rest on, which is kept',
    )
    .addOption(
      new Option(
        '--zip-areas <file>',
        'the areas with more than 20,000 people, whose first three digits are shown: one a line, or a CSV file of the Census with the ' +
          'people of each ZCTA',
      ).conflicts('withoutZipAreas'),
    )
    .option('--without-zip-areas', 'leave ZIP codes out again')
    .addHelpText(
      'after',
      example(
        'chartledger deidentification set --workspace clinic --zip-areas zcta-population.csv',
        "chartledger deidentification set --workspace clinic --dates shifted --determination 'Report of J. Doe, PhD, of 2026-02-01'",
      ),
    )
    .action(set);
}
