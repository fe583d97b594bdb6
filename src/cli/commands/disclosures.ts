import { type Command, Option } from 'commander';
import { patient } from '../../domain/records/kinds/patient.ts';
import { type ReportFormat, reportFormats, reportText } from '../../modules/audit/disclosureFormats.ts';
import { reportDisclosures } from '../../modules/audit/disclosures.ts';
import { withCurrentModels, withWorkspace } from '../../server/stores.ts';
import { addFormatOptions, kindArgument, parseInstant } from '../lib/options.ts';
import { addOutOptions, type OutOptions, requireOut, writeReport } from '../lib/reportFile.ts';
import { example, print } from '../lib/terminal.ts';

interface DisclosuresOptions extends OutOptions {
  workspace: string;
  /** ISO 8601, UTC, to the millisecond. */
  since?: string;
  until?: string;
  accounting?: boolean;
  omitExempt?: boolean;
  summary?: boolean;
  format: ReportFormat;
}

async function showDisclosures(
  _kind: string,
  patientId: string,
  options: DisclosuresOptions,
  command: Command,
): Promise<void> {
  const { workspace, since: from, until: to, accounting, omitExempt, summary = false, format, out } = options;
  await requireOut(options, command);
  const form = accounting ? 'accounting' : 'access_report';
  await withWorkspace(workspace, ({ eventLog, names, caller }) =>
    withCurrentModels(eventLog, async (readModels) => {
      const query = { patientId, form, from, to, omitExempt } as const;
      const how = { format, ...(summary && { summary }) };
      const report = await reportDisclosures({ eventLog, readModels, names }, caller, query, how);
      const texts = reportText(workspace, report, format, summary);
      if (out === undefined) return print(texts);
      const { patientId: patient_id, ...limits } = report.query;
      const origin = { workspace, report: 'disclosures', query: { patient_id, ...limits, ...how } } as const;
      await writeReport({ eventLog, readModels }, origin, out, texts);
    }),
  );
}

/** `chartledger disclosures …` */
export function addDisclosureCommands(disclosures: Command): void {
  const command = disclosures
    .command('list', { isDefault: true })
    .description(
      "Report who received a patient's data: its record, every record that refers or ever referred to it, " +
        'and their documents, even if the patient was erased. Lists every access, newest first, or with ' +
        '--accounting the disclosures under 45 CFR 164.528. The report contains ids and versions but no ' +
        'values; the audit trail records who requested it.',
    )
    .addArgument(kindArgument('<kind>', [patient.kind]))
    .argument('<id>', 'the id that the patient was sent with')
    .requiredOption('--workspace <id>', 'the workspace of the patient')
    .option(
      '--since <time>',
      'at or after this ISO 8601 date or date-time (default: the beginning; for an accounting, six years ' +
        'ago)',
      parseInstant,
    )
    .option('--until <time>', 'before this ISO 8601 date or date-time (default: now)', parseInstant)
    .option(
      '--accounting',
      'only disclosures, without uses by the organization itself and de-identified data; treatment, ' +
        'payment and operations are marked exempt',
    )
    .addOption(
      new Option('--omit-exempt', 'an accounting without exempt disclosures').implies({ accounting: true }),
    )
    .addOption(
      new Option(
        '--summary',
        'an accounting with one line per recipient and purpose: the first disclosure, their number and the ' +
          'last',
      ).implies({ accounting: true }),
    );
  addFormatOptions(addOutOptions(command), reportFormats, 'csv: one line per entry; json: one object')
    .addHelpText(
      'after',
      example(
        'chartledger disclosures list patient patient-1001 --workspace clinic --format csv --out access-report.csv',
        'chartledger disclosures list patient patient-1001 --workspace clinic --accounting --omit-exempt --format csv --out accounting.csv',
      ),
    )
    .action(showDisclosures);
}
