import { type Command, Option } from 'commander';
import { reportPage } from '../../dashboard/pages/disclosuresPaper.ts';
import { disclosureMeans } from '../../domain/events/payloads.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { addDisclosure, statePurpose } from '../../modules/audit/disclosureCommands.ts';
import { type ReportFormat, reportFormats, reportText } from '../../modules/audit/disclosureFormats.ts';
import { reportDisclosures } from '../../modules/audit/disclosures.ts';
import { withCurrentModels, withWorkspace } from '../../server/stores.ts';
import { addFormatOptions, kindArgument, parseInstant, parseMoment } from '../lib/options.ts';
import { addOutOptions, type OutOptions, requireOut, writeReport } from '../lib/reportFile.ts';
import { example, print, writeLine } from '../lib/terminal.ts';
import { addPurposeOptions, addTermOptions, type TermOptions, termsOfOptions } from '../lib/termOptions.ts';

interface DisclosuresOptions extends OutOptions {
  workspace: string;
  /** ISO 8601, UTC, to the millisecond. */
  since?: string;
  until?: string;
  accounting?: boolean;
  omitExempt?: boolean;
  summary?: boolean;
  format: ReportFormat | 'html';
}

async function showDisclosures(
  _kind: string,
  patientId: string,
  options: DisclosuresOptions,
  command: Command,
): Promise<void> {
  const { workspace, since: from, until: to, accounting, omitExempt, summary = false, format, out } = options;
  if (format === 'html' && summary) command.error('error: --summary requires --format csv or json');
  await requireOut(options, command);
  const form = accounting ? 'accounting' : 'access_report';
  await withWorkspace(workspace, ({ eventLog, names, directory, caller }) =>
    withCurrentModels(eventLog, async (readModels) => {
      const query = { patientId, form, from, to, omitExempt } as const;
      const how = { format, ...(summary && { summary }) };
      const report = await reportDisclosures({ eventLog, readModels, names, directory }, caller, query, how);
      const texts = format === 'html' ? reportPage(report) : reportText(workspace, report, format, summary);
      if (out === undefined) return print(texts);
      const { patientId: patient_id, ...limits } = report.query;
      const origin = { workspace, report: 'disclosures', query: { patient_id, ...limits, ...how } } as const;
      await writeReport({ eventLog, readModels }, origin, out, texts);
    }),
  );
}

interface AddOptions extends TermOptions {
  workspace: string;
  date: string;
  means: (typeof disclosureMeans)[number];
  description: string;
}

async function add(_kind: string, patientId: string, options: AddOptions): Promise<void> {
  const { terms, others } = termsOfOptions(options);
  const { workspace, date: disclosed_at, means, description } = others;
  await withWorkspace(workspace, async ({ eventLog, caller }) => {
    const sent = { disclosed_at, means, description, ...terms };
    writeLine(`Added disclosure ${await addDisclosure({ eventLog }, caller, patientId, sent)}.`);
  });
}

async function setPurpose(
  _kind: string,
  patientId: string,
  eventId: string,
  options: TermOptions & { workspace: string },
): Promise<void> {
  const { terms, others } = termsOfOptions(options);
  await withWorkspace(others.workspace, ({ eventLog, names, directory, caller }) =>
    withCurrentModels(eventLog, async (readModels) => {
      const ports = { eventLog, readModels, names, directory };
      await statePurpose(ports, caller, patientId, eventId, terms);
      writeLine(`The purpose of disclosure ${eventId} was stated.`);
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
        '--accounting the disclosures under 45 CFR 164.528. The report says in words what was disclosed; ' +
        'the audit trail records who requested it.',
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
  const formats = 'csv: one line per entry; json: one object; html: a page to hand over';
  addFormatOptions(addOutOptions(command), [...reportFormats, 'html'], formats)
    .addHelpText(
      'after',
      example(
        'chartledger disclosures list patient patient-1001 --workspace clinic --format csv --out access-report.csv',
        'chartledger disclosures list patient patient-1001 --workspace clinic --accounting --omit-exempt --format html --out accounting.html',
      ),
    )
    .action(showDisclosures);

  const adding = disclosures
    .command('add')
    .description(
      'Add a disclosure that the service did not make, by telephone, fax, mail, on paper or by other means, to the ' +
        'accounting of disclosures of a patient. It is erased with the patient.',
    )
    .addArgument(kindArgument('<kind>', [patient.kind]))
    .argument('<id>', 'the id that the patient was sent with')
    .requiredOption('--workspace <id>', 'the workspace of the patient')
    .requiredOption('--date <date>', 'when: an ISO 8601 date or date-time', parseMoment)
    .addOption(new Option('--means <means>', 'how').choices(disclosureMeans).makeOptionMandatory())
    .requiredOption('--description <text>', 'what was disclosed, in words for the patient');
  addTermOptions(adding)
    .addHelpText(
      'after',
      example(
        'chartledger disclosures add patient patient-1001 --workspace clinic --date 2026-03-14 --means fax --description "Immunization record of 2025" --recipient "State registry" --purpose other --purpose-statement "Required by state law"',
      ),
    )
    .action(add);

  const purpose = disclosures
    .command('set-purpose')
    .description(
      'State the purpose of a disclosure for which none was given. The entry stays as it is; accountings of the patient show ' +
        'the purpose with it, and by whom it was stated.',
    )
    .addArgument(kindArgument('<kind>', [patient.kind]))
    .argument('<id>', 'the id that the patient was sent with')
    .argument('<event>', 'the event_id of the disclosure, from `disclosures list`')
    .requiredOption('--workspace <id>', 'the workspace of the patient');
  addPurposeOptions(purpose)
    .addHelpText(
      'after',
      example(
        'chartledger disclosures set-purpose patient patient-1001 019cebb7-54c0-7c1e-9b3a-5f0a6d2c8e41 --workspace clinic --purpose treatment',
      ),
    )
    .action(setPurpose);
}
