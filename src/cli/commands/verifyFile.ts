import { open, readFile, stat } from 'node:fs/promises';
import { MAX_EVENT_BYTES } from '../../domain/events/event.ts';
import {
  certificateProblem,
  certifiedErasures,
  type ErasureCertificate,
  parseCertificate,
} from '../../modules/integrity/erasureCertificate.ts';
import { type ExportFilters, manifestSchema } from '../../modules/integrity/exportArchive.ts';
import { parseReportManifest, type ReportManifest, verifyReport } from '../../modules/integrity/manifest.ts';
import { pageProblem, parseEvidence } from '../../modules/integrity/printedPage.ts';
import { type Proof, parseProof, proofProblem } from '../../modules/integrity/proofs.ts';
import { PublicKeys, type TreeHead, treeHeadSchema } from '../../modules/integrity/publicKeys.ts';
import { verifyExport } from '../../modules/integrity/verifyExport.ts';
import { verifyPatientCopy } from '../../modules/patientCopy/manifest.ts';
import { ServiceError } from '../../platform/errors.ts';
import { ofFile } from '../lib/files.ts';
import { count, counted } from '../lib/terminal.ts';
import type { Findings } from './findings.ts';

/** Reads the keys for checking signatures from a public key file (PEM). Rejects with `validation_failed` or `conflict`. */
export const readPublicKeys = (path: string): Promise<PublicKeys> =>
  ofFile(path, async () => PublicKeys.parse(await readFile(path, 'utf8')));

/**
 * Reads the tree head in a file, which may be the manifest of a file, signed with a key valid at its time; of one workspace, if
 * given. Rejects with `validation_failed` or `conflict`.
 */
export async function readHead(path: string, publicKeys: PublicKeys, workspace?: string): Promise<TreeHead> {
  const text = await ofFile(path, () => readFile(path, 'utf8'));
  const head = parseHead(text);
  const problem = head ? publicKeys.problem(head) : 'it is neither a tree head nor the manifest of a file';
  if (head === undefined || problem) {
    throw new ServiceError('validation_failed', `${path} is not valid: ${problem}.`);
  }
  if (workspace === undefined || head.workspace === workspace) return head;
  throw new ServiceError('validation_failed', `${path} belongs to the workspace ${head.workspace}.`);
}

function parseHead(text: string): TreeHead | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const manifest = manifestSchema.safeParse(value).data ?? parseReportManifest(text);
    return manifest?.tree_head ?? treeHeadSchema.safeParse(value).data;
  } catch {
    return undefined;
  }
}

/** No proof or certificate is nearly as long: those of a patient contain a tombstone for each encounter and document. */
const MAX_PROOF_BYTES = 64 * MAX_EVENT_BYTES;

/** A file to verify, and what with. */
interface FileToVerify {
  path: string;
  publicKey: string;
  /** Of the head that a proof is for. */
  headFile: string | undefined;
  /** Of the proof that a printed page is compared with. */
  proofFile: string | undefined;
}

/**
 * Checks an export, a report, a proof, an erasure certificate, the copy of a patient or a printed page with public keys alone.
 * Rejects as `readPublicKeys` does.
 */
export async function verifyFile(
  findings: Findings,
  { path, publicKey, headFile, proofFile }: FileToVerify,
): Promise<void> {
  const keys = await readPublicKeys(publicKey);
  if (proofFile !== undefined) return verifyPage(findings, path, proofFile, keys, headFile);
  if (await ofFile(path, () => isZip(path))) return verifyCopy(findings, path, keys, headFile);
  const text = await ofFile(path, () => readShort(path));
  const certificate = text === undefined ? undefined : parseCertificate(text);
  if (certificate && 'problem' in certificate)
    return findings.problem(invalidCertificate(certificate.problem));
  if (certificate) return verifyCertificate(findings, certificate.certificate, keys, headFile);
  const found = text === undefined ? undefined : parseProof(text);
  if (found === undefined) return verifyExportFile(findings, path, keys, headFile);
  if ('problem' in found) return findings.problem(`The proof is not valid: ${found.problem}.`);
  const { proof } = found;
  if (headFile && proof.type === 'chartledger.consistency_proof.v1')
    return findings.problem('The proof contains both of its heads. Verify it without --head.');
  const head = headFile === undefined ? undefined : await readHead(headFile, keys);
  const problem = proofProblem(proof, keys, head);
  if (problem) return findings.problem(`The proof is not valid: ${problem}.`);
  findings.verified('proof', proofPart(proof), [describeProof(proof)]);
}

async function verifyPage(
  findings: Findings,
  path: string,
  proofFile: string,
  keys: PublicKeys,
  headFile: string | undefined,
): Promise<void> {
  const page = parseEvidence(await ofFile(path, () => readFile(path, 'utf8')));
  if (page === undefined)
    return findings.problem(
      'The file has no evidence of a printed page. Save the page as HTML or text; a PDF is verified by its manifest (chartledger sign).',
    );
  const found = parseProof(await ofFile(proofFile, () => readFile(proofFile, 'utf8')));
  if (found === undefined || 'problem' in found || found.proof.type !== 'chartledger.proof.v1')
    return findings.problem(`${proofFile} is not the proof of an event.`);
  const { proof } = found;
  const head = headFile === undefined ? undefined : await readHead(headFile, keys);
  const invalid = proofProblem(proof, keys, head);
  if (invalid) return findings.problem(`The proof is not valid: ${invalid}.`);
  const problem = pageProblem(page, proof);
  if (problem) return findings.problem(`The page is not valid: ${problem}.`);
  findings.verified('page', proofPart(proof), [
    `The evidence on the page is that of this event, which is what its foot says, not what is above it. ${describeProof(proof)}`,
  ]);
}

/** The beginning of every ZIP that is not empty. */
const ZIP_SIGNATURE = Buffer.from('PK\x03\x04');

async function isZip(path: string): Promise<boolean> {
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(ZIP_SIGNATURE.length));
  return bytesRead === ZIP_SIGNATURE.length && buffer.equals(ZIP_SIGNATURE);
}

async function verifyCopy(
  findings: Findings,
  path: string,
  keys: PublicKeys,
  headFile: string | undefined,
): Promise<void> {
  if (headFile) return findings.problem('A copy contains its own head. Verify it without --head.');
  const { manifest, problem } = await ofFile(path, () => verifyPatientCopy(path, keys));
  if (problem !== undefined || manifest === undefined) return findings.problem(problem ?? '');
  const { workspace, files, tree_head, created_at } = manifest;
  const part = { workspace, files: files.length, created_at, tree_head: tree_head.root };
  findings.verified('copy', part, [
    `A copy of a patient of ${workspace}, made at ${created_at}: ${counted(files.length, 'file')}; tree head ${tree_head.root}`,
  ]);
}

async function readShort(path: string): Promise<string | undefined> {
  const { size } = await stat(path);
  return size > MAX_PROOF_BYTES ? undefined : readFile(path, 'utf8');
}

function verifyCertificate(
  findings: Findings,
  certificate: ErasureCertificate,
  keys: PublicKeys,
  headFile: string | undefined,
): void {
  const problem =
    headFile === undefined
      ? certificateProblem(certificate, keys)
      : 'it contains its own head; verify it without --head';
  if (problem) {
    findings.problem(invalidCertificate(problem));
    return;
  }
  const { tombstones, deletion, workspace, tree_head, created_at } = certificate;
  const part = {
    workspace,
    erasures: tombstones.length,
    ...(deletion && { workspace_deleted: deletion.event.data }),
    tree_head: tree_head.root,
    created_at,
  };
  findings.verified('certificate', part, [
    `${counted(tombstones.length, 'erasure')} in ${workspace} certified; tree head ${tree_head.root}`,
    ...certifiedErasures(certificate).map((line) => `  ${line}`),
  ]);
}

function invalidCertificate(problem: string): string {
  return `The certificate is not valid: ${problem}.`;
}

async function verifyExportFile(
  findings: Findings,
  path: string,
  keys: PublicKeys,
  headFile: string | undefined,
): Promise<void> {
  if (headFile !== undefined)
    return findings.problem('The manifest of a file contains its head. Verify it without --head.');
  const report = await ofFile(path, () => verifyReport(path, keys));
  if (report !== undefined) return reportFound(findings, report);
  const { manifest, problem } = await ofFile(path, () => verifyExport(path, keys));
  if (problem !== undefined || manifest === undefined) return findings.problem(problem ?? '');
  const { events, workspace, filters, tree_head } = manifest;
  findings.verified('export', { workspace, events, filters, tree_head: tree_head.root }, [
    `${counted(events, 'event')} of ${workspace} verified${limitsText(filters)}; tree head ${tree_head.root}`,
  ]);
}

const reportTitles: Record<ReportManifest['report'], string> = {
  audit: 'The audit trail',
  access: 'The report of access',
  disclosures: 'The disclosures',
  history: 'The history',
  diff: 'The differences',
  file: 'A signed file',
  changes: 'The list of changes',
  worklist: 'The worklist',
  scorecard: 'The scorecard',
};

function reportFound(
  findings: Findings,
  { manifest, problem }: NonNullable<Awaited<ReturnType<typeof verifyReport>>>,
): void {
  if (problem !== undefined) {
    findings.problem(problem);
    return;
  }
  const { report, workspace, query, bytes, lines, created_at, tree_head } = manifest;
  const part = { workspace, report, query, bytes, lines, created_at, tree_head: tree_head.root };
  findings.verified('report', part, [
    `${reportTitles[report]} of ${workspace}, made at ${created_at}: ${counted(bytes, 'byte')}; tree head ${tree_head.root}`,
  ]);
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

function proofPart(proof: Proof): object {
  if (proof.type === 'chartledger.consistency_proof.v1') {
    const { first, second } = proof;
    return { workspace: first.workspace, first: first.root, second: second.root };
  }
  const { event, index, tree_head } = proof;
  const { stream, revision, recordedAt: recorded_at } = event;
  return {
    workspace: tree_head.workspace,
    ...{ stream, version: revision + 1, recorded_at, index: index + 1, tree_head: tree_head.root },
  };
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
