import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { z } from 'zod';
import { digestFields, manifestFields, signaturesProblem } from '../integrity/manifest.ts';
import { type PublicKeys, type SigningKey, signObject, type TreeHead } from '../integrity/publicKeys.ts';

/** The manifest's name in the ZIP; it is the last file. */
export const MANIFEST = 'manifest.json';
/** The key is a convenience: a copy is checked with a key that came another way. */
const PUBLIC_KEY = 'chartledger.pem';

const fileSchema = z.strictObject({
  path: z.string(),
  ...digestFields,
});

/** A file in the ZIP. */
export type CopiedFile = z.infer<typeof fileSchema>;

/** Describes the copy of a patient; verifiable with the public key alone. */
const manifestSchema = z.strictObject({
  type: z.literal('chartledger.patient_copy_manifest.v1'),
  patient_id: z.string(),
  /** All files but this one and the public key. */
  files: z.array(fileSchema),
  ...manifestFields,
});

export type CopyManifest = z.infer<typeof manifestSchema>;

/** What the manifest of a copy states. */
interface CopyStatement {
  workspace: string;
  patientId: string;
  files: CopiedFile[];
  head: TreeHead;
  createdAt: string;
}

/** Creates and signs the manifest of a copy. */
export function signCopyManifest(
  { workspace, patientId, files, head, createdAt }: CopyStatement,
  signingKey: SigningKey,
): CopyManifest {
  return signObject(
    {
      type: 'chartledger.patient_copy_manifest.v1' as const,
      ...{ workspace, patient_id: patientId, files, tree_head: head, created_at: createdAt },
    },
    signingKey,
  );
}

/** The result of checking a copy. */
interface CopyCheck {
  manifest?: CopyManifest;
  /** What is wrong, in one sentence without any of the data; undefined: nothing. */
  problem?: string;
}

const MAX_MANIFEST_BYTES = 64 * 1024 * 1024;

/**
 * Checks the ZIP of a copy with public keys alone: the signatures, that it has the files of its manifest and no others, and the
 * hash of each. Reads one file at a time, in bounded memory. Rejects with the file system's error when the ZIP cannot be read.
 */
export async function verifyPatientCopy(path: string, publicKeys: PublicKeys): Promise<CopyCheck> {
  let zip: ZipFile;
  try {
    zip = await openPromise(path, { lazyEntries: true, autoClose: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall !== undefined) throw error;
    return { problem: 'The file is not a whole ZIP.' };
  }
  try {
    return await check(zip, publicKeys);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall !== undefined) throw error;
    return { problem: 'The ZIP is damaged.' };
  } finally {
    zip.close();
  }
}

async function check(zip: ZipFile, publicKeys: PublicKeys): Promise<CopyCheck> {
  const entries = new Map<string, Entry>();
  for await (const entry of zip.eachEntry()) {
    if (entries.has(entry.fileName)) return { problem: `The ZIP has ${entry.fileName} twice.` };
    entries.set(entry.fileName, entry);
  }
  const manifest = await readManifest(zip, entries.get(MANIFEST));
  if (manifest === undefined) return { problem: 'The ZIP has no manifest of a copy of a patient.' };
  const problem = signaturesProblem(manifest, publicKeys) ?? (await filesProblem(zip, entries, manifest));
  return { manifest, ...(problem !== undefined && { problem }) };
}

async function readManifest(zip: ZipFile, entry: Entry | undefined): Promise<CopyManifest | undefined> {
  if (entry === undefined || entry.uncompressedSize > MAX_MANIFEST_BYTES) return undefined;
  const read = await text(await zip.openReadStreamPromise(entry));
  try {
    return manifestSchema.safeParse(JSON.parse(read)).data;
  } catch {
    return undefined;
  }
}

async function filesProblem(
  zip: ZipFile,
  entries: ReadonlyMap<string, Entry>,
  { files }: CopyManifest,
): Promise<string | undefined> {
  const listed = new Set([MANIFEST, PUBLIC_KEY, ...files.map(({ path }) => path)]);
  const added = [...entries.keys()].find((name) => !listed.has(name));
  if (added !== undefined) return `The ZIP has a file that the manifest does not list: ${added}.`;
  for (const { path, bytes, sha256 } of files) {
    const entry = entries.get(path);
    if (entry === undefined) return `The ZIP lacks a file that the manifest lists: ${path}.`;
    const hash = createHash('sha256');
    let size = 0;
    for await (const chunk of await zip.openReadStreamPromise(entry)) {
      hash.update(chunk);
      size += chunk.length;
    }
    if (size !== bytes || hash.digest('hex') !== sha256)
      return `${path} is not the file that the manifest describes: its SHA-256 differs.`;
  }
  return undefined;
}
