import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import type { Caller } from '../../domain/events/newEvent.ts';
import type { DisclosedRecord } from '../../domain/events/payloads.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { unavailable } from '../../platform/errors.ts';
import type { DocumentStore } from '../../storage/documentStore.ts';
import { type AccessRecorded, recordAccess } from '../audit/recordAccess.ts';
import { StoredTree } from '../integrity/proofs.ts';
import { publicKeysOf, type SigningKey, signTreeHead } from '../integrity/publicKeys.ts';
import { readContent } from '../records/queries/documents.ts';
import { everythingBundle } from './bundle.ts';
import { type ContentsPorts, type PatientContents, readPatientContents } from './contents.ts';
import { type CopiedFile, MANIFEST, signCopyManifest } from './manifest.ts';

export interface CopyPorts extends ContentsPorts {
  documentStore: DocumentStore;
  /** Returns the current key, called again once all that is to be signed was read; without one, there is no manifest. */
  signingKey(): Promise<SigningKey | undefined>;
  /** Returns the copy as one page of HTML, for the patient to read. */
  pageOf(contents: PatientContents, createdAt: string): string;
}

/** Who receives a copy. */
export interface CopyRequest {
  patientId: string;
  /** Default: the patient. */
  recipient?: string | undefined;
}

/** A copy of all that is stored of a patient. */
export interface PatientCopy {
  contents: PatientContents;
  /**
   * The ZIP, created while it is read, one document at a time. Fails with `not_found` or `DocumentMismatch` where the bytes of a
   * document are not those that were uploaded, and with `unavailable`.
   */
  zip: Readable;
}

/** An individual, or the person who acts for them, may have a copy of what is held about them. */
const BASIS = 'Copy for the individual, on request (45 CFR 164.524)';
const THINGS_AN_ENTRY = 2_000;

/**
 * Resolves with the copy of a patient that 45 CFR 164.524 gives the individual a right to. That it was disclosed, and to whom, is in
 * the audit trail before it is returned. Rejects as `readPatientContents` does.
 */
export async function copyPatient(
  ports: CopyPorts,
  caller: Caller,
  { patientId, recipient = 'The patient' }: CopyRequest,
): Promise<PatientCopy> {
  const { workspace } = caller;
  const contents = await readPatientContents(ports, workspace, patientId);
  const disclosedTo = { recipient, purpose: 'other', purpose_statement: BASIS } as const;
  const [access, ...others] = accessesOf(contents, patientId);
  await recordAccess(ports.eventLog, { ...caller, disclosedTo }, access as AccessRecorded, ...others);
  const tree = await StoredTree.current(ports, workspace);
  const isSigned = (await ports.signingKey()) !== undefined;
  return { contents, zip: zipOf(ports, contents, tree, isSigned) };
}

/** Names all that is in the copy. The entry is about the patient that was asked for. */
function accessesOf(
  { patient: whole, merged, encounters, documents, referred }: PatientContents,
  id: string,
) {
  const things: DisclosedRecord[] = [
    ...[whole, ...merged].map((one) => ({ kind: patient.kind, record_id: one.id })),
    ...encounters.map((one) => ({ kind: 'encounter', record_id: one.id })),
    ...documents.map(({ encounterId, view }) => ({
      ...{ kind: 'document', record_id: encounterId, document_id: view.document_id },
    })),
    ...[...referred].flatMap(([kind, views]) => views.map((one) => ({ kind, record_id: one.id }))),
  ];
  const accesses: AccessRecorded[] = [];
  for (let at = 0; at < things.length; at += THINGS_AN_ENTRY) {
    const part = things.slice(at, at + THINGS_AN_ENTRY);
    accesses.push({
      ...{ action: 'record.copy', kind: patient.kind, record_id: id },
      shown: { ranges: [], count: part.length, things: part },
    });
  }
  return accesses;
}

function zipOf(ports: CopyPorts, contents: PatientContents, tree: StoredTree, isSigned: boolean): Readable {
  const createdAt = new Date().toISOString();
  const mtime = new Date(createdAt);
  const zip = new ZipFile();
  const files: CopiedFile[] = [];
  const addText = (path: string, text: string) => {
    const bytes = Buffer.from(text);
    files.push({ path, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') });
    zip.addBuffer(bytes, path, { mtime });
  };
  addText('patient.html', ports.pageOf(contents, createdAt));
  addText('patient.json', jsonText(recordsOf(contents, createdAt)));
  addText('fhir-bundle.json', jsonText(everythingBundle(contents, createdAt)));
  const addLast = (path: string, open: () => Promise<Readable>) =>
    zip.addReadStreamLazy(path, { mtime, forceZip64Format: true }, (give) => {
      open().then(
        // Otherwise a failure in the middle would end the file as if it were whole.
        (stream) =>
          give(
            null,
            stream.once('error', (error) => bytes.destroy(error)),
          ),
        (error) => bytes.destroy(error),
      );
    });
  for (const { path, uploaded } of contents.documents) {
    addLast(path, async () => {
      const source = await readContent(ports.documentStore, uploaded);
      // The stream fails before its last bytes where they are not those that were uploaded.
      files.push({ path, bytes: uploaded.size, sha256: uploaded.sha256 });
      return source;
    });
  }
  if (isSigned) {
    addLast(MANIFEST, async () => {
      const { workspace, patient: whole } = contents;
      const key = await signingKeyOf(ports);
      const head = signTreeHead(workspace, tree.head, tree.head.last, key);
      return textStream(
        jsonText(signCopyManifest({ workspace, patientId: whole.id, files, head, createdAt }, key)),
      );
    });
    addLast('chartledger.pem', async () => textStream(publicKeysOf(await signingKeyOf(ports)).text()));
  }
  const bytes = zip.outputStream as Readable;
  zip.on('error', (error: Error) => bytes.destroy(error));
  zip.end();
  return bytes;
}

const textStream = (text: string) => Readable.from([Buffer.from(text)]);
const jsonText = (value: unknown) => `${JSON.stringify(value, undefined, 2)}\n`;

async function signingKeyOf(ports: CopyPorts): Promise<SigningKey> {
  const key = await ports.signingKey();
  if (key === undefined) throw unavailable('signing key');
  return key;
}

/** Returns the records as the API shows them. */
function recordsOf(
  { workspace, patient, merged, encounters, documents, referred }: PatientContents,
  created_at: string,
) {
  return {
    type: 'chartledger.patient_copy.v1',
    ...{ workspace, created_at, patient, merged_patients: merged, encounters },
    documents: documents.map(({ encounterId, view, path }) => ({ encounter_id: encounterId, ...view, path })),
    referred: Object.fromEntries(referred),
  };
}
