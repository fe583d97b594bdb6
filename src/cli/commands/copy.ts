import type { Command } from 'commander';
import { copiedPatientPage } from '../../dashboard/pages/records/copiedPatient.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { copyPatient } from '../../modules/patientCopy/copy.ts';
import { loadSigningKey, withCurrentModels, withDocumentStore, withWorkspace } from '../../server/stores.ts';
import { ofFile, requireFree, writeWholeFile } from '../lib/files.ts';
import { kindArgument } from '../lib/options.ts';
import { counted, example, writeLine } from '../lib/terminal.ts';

interface CopyOptions {
  workspace: string;
  out: string;
  recipient?: string;
  force?: boolean;
}

async function copy(_kind: string, patientId: string, options: CopyOptions): Promise<void> {
  const { workspace, out, recipient, force = false } = options;
  await ofFile(out, () => requireFree(out, force));
  await withWorkspace(workspace, ({ eventLog, caller, directory }) =>
    withDocumentStore((documentStore) =>
      withCurrentModels(eventLog, async (readModels) => {
        const ports = {
          ...{ eventLog, readModels, documentStore, directory, pageOf: copiedPatientPage },
          signingKey: () => loadSigningKey(eventLog),
        };
        const { contents, zip } = await copyPatient(ports, caller, { patientId, recipient });
        await ofFile(out, () => writeWholeFile(out, zip));
        const { encounters, documents } = contents;
        writeLine(
          `${counted(encounters.length, 'encounter')} and ${counted(documents.length, 'document')} in ${out}.`,
        );
      }),
    ),
  );
}

/** `chartledger records copy` */
export function addCopyCommand(records: Command): void {
  records
    .command('copy')
    .description(
      'Copy all that is stored of a patient, for the patient (45 CFR 164.524): the record, merged patients, ' +
        'encounters and documents, in one ZIP with a page to read and print, JSON, a FHIR R4 Bundle and a ' +
        'signed manifest (see `verify`). The audit trail records it as a disclosure to the individual.',
    )
    .addArgument(kindArgument('<kind>', [patient.kind]))
    .argument('<id>', 'the id that the patient was sent with')
    .requiredOption('--workspace <id>', 'the workspace of the patient')
    .requiredOption('--out <file>', 'the ZIP to write')
    .option(
      '--recipient <name>',
      "the person who receives it on the patient's behalf, for disclosure reports (default: the patient)",
    )
    .option('--force', 'replace an existing file')
    .addHelpText(
      'after',
      example(
        'chartledger records copy patient patient-1001 --workspace clinic --out patient-1001.zip',
        'chartledger verify patient-1001.zip --public-key chartledger.pem',
      ),
    )
    .action(copy);
}
