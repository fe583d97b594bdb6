import { constants } from 'node:fs';
import { access, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { copiedPatientPage } from '../../dashboard/pages/records/copiedPatient.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { copyPatient } from '../../modules/patientCopy/copy.ts';
import { ServiceError } from '../../platform/errors.ts';
import { loadSigningKey, withCurrentModels, withDocumentStore, withWorkspace } from '../../server/stores.ts';
import { ofFile } from '../lib/files.ts';
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
  await withWorkspace(workspace, ({ eventLog, caller }) =>
    withDocumentStore((documentStore) =>
      withCurrentModels(eventLog, async (readModels) => {
        const ports = {
          ...{ eventLog, readModels, documentStore, pageOf: copiedPatientPage },
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

async function requireFree(path: string, force: boolean): Promise<void> {
  const isThere = await access(path, constants.F_OK).then(
    () => true,
    () => false,
  );
  if (isThere && !force)
    throw new ServiceError('conflict', `${path} already exists. To replace it, use --force.`);
}

const OWNER_ONLY = 0o600;

/** Writes a file that has its name only once it is whole and on disk. If that fails, nothing is left: it contains PHI. */
async function writeWholeFile(path: string, content: Readable): Promise<void> {
  const part = `${path}.part`;
  try {
    const file = await open(part, 'w', OWNER_ONLY);
    await pipeline(content, file.createWriteStream({ flush: true }));
    await rename(part, path);
    const folder = await open(dirname(path));
    await folder.sync();
    await folder.close();
  } catch (error) {
    content.destroy();
    await rm(part, { force: true });
    throw error;
  }
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
