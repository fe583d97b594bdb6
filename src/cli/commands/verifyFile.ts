import { readFile, stat } from 'node:fs/promises';
import { MAX_EVENT_BYTES } from '../../domain/events/event.ts';
import {
  certificateProblem,
  certifiedErasures,
  type ErasureCertificate,
  parseCertificate,
} from '../../modules/integrity/erasureCertificate.ts';
import type { ExportFilters } from '../../modules/integrity/manifest.ts';
import type { PublicKeys } from '../../modules/integrity/PublicKeys.ts';
import { type Proof, parseProof, proofProblem } from '../../modules/integrity/proof.ts';
import { verifyExport } from '../../modules/integrity/verifyExport.ts';
import { ofFile } from '../lib/ofFile.ts';
import { count, counted, fail, writeLine } from '../lib/output.ts';
import { readHead, readPublicKeys } from './signedFiles.ts';

/** No proof or certificate is nearly as long: those of a patient contain a tombstone for each encounter and document. */
const MAX_PROOF_BYTES = 64 * MAX_EVENT_BYTES;

/** Checks an export, a proof or an erasure certificate with public keys alone, and prints the findings. */
export async function verifyFile(path: string, publicKey: string, headFile?: string): Promise<void> {
  const keys = await readPublicKeys(publicKey);
  const text = await ofFile(path, () => readShort(path));
  const certificate = text === undefined ? undefined : parseCertificate(text);
  if (certificate && 'problem' in certificate) return fail(invalidCertificate(certificate.problem));
  if (certificate) return verifyCertificate(certificate.certificate, keys, headFile);
  const found = text === undefined ? undefined : parseProof(text);
  if (found === undefined) return verifyExportFile(path, keys, headFile);
  if ('problem' in found) return fail(`The proof is not valid: ${found.problem}.`);
  const { proof } = found;
  if (headFile && proof.type === 'chartledger.consistency_proof.v1')
    return fail('The proof contains both of its heads. Verify it without --head.');
  const head = headFile === undefined ? undefined : await readHead(headFile, keys);
  const problem = proofProblem(proof, keys, head);
  if (problem) return fail(`The proof is not valid: ${problem}.`);
  writeLine(describeProof(proof));
}

async function readShort(path: string): Promise<string | undefined> {
  const { size } = await stat(path);
  return size > MAX_PROOF_BYTES ? undefined : readFile(path, 'utf8');
}

function verifyCertificate(certificate: ErasureCertificate, keys: PublicKeys, headFile?: string): void {
  const problem =
    headFile === undefined
      ? certificateProblem(certificate, keys)
      : 'it contains its own head; verify it without --head';
  if (problem) {
    fail(invalidCertificate(problem));
    return;
  }
  const { tombstones, workspace, tree_head } = certificate;
  writeLine(
    `${counted(tombstones.length, 'erasure')} in ${workspace} certified; tree head ${tree_head.root}`,
  );
  for (const line of certifiedErasures(certificate)) writeLine(`  ${line}`);
}

function invalidCertificate(problem: string): string {
  return `The certificate is not valid: ${problem}.`;
}

async function verifyExportFile(path: string, keys: PublicKeys, headFile?: string): Promise<void> {
  if (headFile !== undefined)
    return fail('The manifest of an export contains its head. Verify it without --head.');
  const { manifest, problem } = await ofFile(path, () => verifyExport(path, keys));
  if (problem !== undefined || manifest === undefined) return fail(problem ?? '');
  const { events, workspace, filters, tree_head } = manifest;
  writeLine(
    `${counted(events, 'event')} of ${workspace} verified${limitsText(filters)}; tree head ${tree_head.root}`,
  );
}

/** Says that an export is not meant to be complete: whoever verifies it must not take it for everything. */
function limitsText({ kind, from, to }: ExportFilters): string {
  const limits = [
    ...(kind === null ? [] : [`of the kind ${kind}`]),
    ...(from === null ? [] : [`recorded at or after ${from}`]),
    ...(to === null ? [] : [`recorded before ${to}`]),
  ];
  return limits.length === 0 ? '' : `, only those ${limits.join(', ')}`;
}

function describeProof(proof: Proof): string {
  if (proof.type === 'chartledger.consistency_proof.v1') {
    const { first, second } = proof;
    return `The ${count(first.size)} events of ${first.workspace} are those with which its ${count(second.size)} events begin; tree head ${second.root}`;
  }
  const { event, index, tree_head } = proof;
  const { workspace, size, root } = tree_head;
  return (
    `Version ${event.revision + 1} of ${event.stream}, recorded at ${event.recordedAt}, is event ${count(index + 1)} of ` +
    `${count(size)} of ${workspace}; tree head ${root}`
  );
}
