import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { QueryPorts } from '../records/queries/records.ts';
import { StoredTree } from './proofs.ts';
import {
  hashSchema,
  type PublicKeys,
  type SigningKey,
  signatureFields,
  signObject,
  signTreeHead,
  type TreeHead,
  treeHeadSchema,
} from './publicKeys.ts';

/** Size and SHA-256 (lower-case hex) of a file, as manifests state them. */
export const digestFields = { bytes: z.int().min(0), sha256: hashSchema };

/** Size and SHA-256 (lower-case hex) of a file. */
export interface FileDigest {
  bytes: number;
  sha256: string;
}

/** What every manifest states besides its files; verifiable with the public key alone. */
export const manifestFields = {
  workspace: z.string(),
  /** Covers the event by which the audit trail records that the files were made. */
  tree_head: treeHeadSchema,
  /** ISO 8601, UTC. */
  created_at: z.string(),
  ...signatureFields,
};

/** Returns what is wrong with the signatures of a manifest and of its tree head, in one sentence; undefined: nothing. */
export function signaturesProblem(
  manifest: Parameters<PublicKeys['problem']>[0] & { tree_head: TreeHead },
  publicKeys: PublicKeys,
): string | undefined {
  const problem = publicKeys.problem(manifest);
  if (problem) return `The manifest is not valid: ${problem}.`;
  const headProblem = publicKeys.problem(manifest.tree_head);
  return headProblem && `The manifest's tree head is not valid: ${headProblem}.`;
}

/** Returns the path of the manifest of a file. */
export function manifestPath(path: string): string {
  return `${path}.manifest.json`;
}

/** What a file that is handed over is: a report of the service, or any file of which a workspace's history has the hash. */
export const reports = [
  ...(['audit', 'access', 'disclosures', 'history', 'diff', 'file'] as const),
  ...(['changes', 'worklist', 'scorecard'] as const),
] as const;

const reportSchema = z.strictObject({
  type: z.literal('chartledger.report_manifest.v1'),
  report: z.enum(reports),
  /** What was requested, as in the audit trail. */
  query: z.record(z.string(), z.unknown()),
  ...digestFields,
  /** Number of line ends in the file. */
  lines: z.int().min(0),
  ...manifestFields,
});

/** Describes a report, or another file: kept beside it. */
export type ReportManifest = z.infer<typeof reportSchema>;

/** What the manifest of a report states about its origin. */
export type ReportOrigin = Pick<ReportManifest, 'workspace' | 'report' | 'query'>;

/**
 * Resolves with the signed manifest of a report that is in the audit trail. `signingKey` is called after the tree was read. Rejects
 * with `unavailable`.
 */
export async function signReport(
  ports: QueryPorts,
  { workspace, report, query }: ReportOrigin,
  digest: ReportDigest,
  signingKey: () => Promise<SigningKey>,
): Promise<ReportManifest> {
  const { head } = await StoredTree.current(ports, workspace);
  const key = await signingKey();
  const statement = {
    type: 'chartledger.report_manifest.v1' as const,
    ...{ workspace, report, query: JSON.parse(JSON.stringify(query)), ...digest },
    tree_head: signTreeHead(workspace, head, head.last, key),
    created_at: new Date().toISOString(),
  };
  return signObject(statement, key);
}

/** As `FileDigest`, with the number of line ends. */
export interface ReportDigest extends FileDigest {
  lines: number;
}

const LINE_END = 10;

/** Yields the chunks of a file as they are; returns its digest. */
export async function* digesting(
  chunks: AsyncIterable<Buffer | string>,
): AsyncGenerator<Buffer, ReportDigest> {
  const hash = createHash('sha256');
  let bytes = 0;
  let lines = 0;
  for await (const one of chunks) {
    const chunk = Buffer.from(one);
    hash.update(chunk);
    bytes += chunk.length;
    for (let at = chunk.indexOf(LINE_END); at !== -1; at = chunk.indexOf(LINE_END, at + 1)) lines += 1;
    yield chunk;
  }
  return { bytes, sha256: hash.digest('hex'), lines };
}

/** Resolves with the digest of a file. Rejects with the file system's error. */
export async function digestOf(path: string): Promise<ReportDigest> {
  const chunks = digesting(createReadStream(path) as AsyncIterable<Buffer>);
  for (;;) {
    const { done, value } = await chunks.next();
    if (done) return value;
  }
}

/** Returns the manifest of a report in a JSON text; undefined when the text is something else. */
export function parseReportManifest(text: string): ReportManifest | undefined {
  try {
    return reportSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** The result of checking a report. */
interface ReportCheck {
  manifest: ReportManifest;
  /** What is wrong, in one sentence without any of the data; undefined: nothing. */
  problem?: string | undefined;
}

/**
 * Checks a report with public keys alone: the signatures of its manifest, and that it is the file that the manifest describes.
 * Resolves with undefined when the manifest is that of something else. Rejects with the file system's error.
 */
export async function verifyReport(path: string, publicKeys: PublicKeys): Promise<ReportCheck | undefined> {
  const manifest = parseReportManifest(await readFile(manifestPath(path), 'utf8'));
  if (manifest === undefined) return undefined;
  const problem = signaturesProblem(manifest, publicKeys) ?? fileProblem(manifest, await digestOf(path));
  return { manifest, problem };
}

function fileProblem({ lines, sha256 }: ReportManifest, found: ReportDigest): string | undefined {
  if (found.sha256 === sha256) return undefined;
  if (found.lines !== lines) return `The file has ${found.lines} lines, but the manifest says ${lines}.`;
  return FILE_DIFFERS;
}

/** Says that a file has the size that its manifest states, but not the content. */
export const FILE_DIFFERS = 'The file is not the one that the manifest describes: its SHA-256 differs.';
