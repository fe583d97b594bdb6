import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { z } from 'zod';
import { ServiceError } from '../../platform/errors.ts';
import type { BackupTarget } from '../../storage/backupTarget.ts';
import { isEarlierFormat } from '../../storage/storeFormat.ts';
import type { PublicKeys } from '../integrity/PublicKeys.ts';
import { type SigningKey, signObject } from '../integrity/SigningKey.ts';
import { hashSchema, signatureFields } from '../integrity/treeHead.ts';

/** A file of a backup: its name there, its size in bytes and their SHA-256. */
const fileSchema = z.strictObject({ name: z.string(), bytes: z.int().min(0), sha256: hashSchema });
export type BackupFile = z.infer<typeof fileSchema>;

/** Consecutive events of the log, a line each, and the positions of the first and the last. */
const segmentSchema = z.strictObject({
  ...fileSchema.shape,
  first: z.int().min(1),
  last: z.int().min(1),
  events: z.int().min(1),
});
export type Segment = z.infer<typeof segmentSchema>;

const treeSchema = z.strictObject({
  workspace: z.string(),
  size: z.int().min(1),
  chain: hashSchema,
  subtrees: z.array(hashSchema),
});

/** A tombstone whose events were not removed yet. */
const tombstoneSchema = z.strictObject({ stream: z.string(), revision: z.int().min(0) });
export type Tombstone = z.infer<typeof tombstoneSchema>;

/** Describes a backup: it names all other files, and is signed. */
export const manifestSchema = z.strictObject({
  type: z.literal('chartledger.backup.v1'),
  /** Of the service that wrote it. */
  version: z.string(),
  /** Of what it contains: `STORE_FORMAT`; missing in backups by version 0.1.0. */
  format: z.int().min(1).optional(),
  /** Identity of the event log. */
  log: z.uuid(),
  /** When reading of its contents began; ISO 8601, UTC. */
  created_at: z.string(),
  /** Position of the last event in it; 0: none. */
  last_position: z.int().min(0),
  /** That an event may have an earlier time than those before it; earlier versions look for it. */
  times_rise: z.literal(false).optional(),
  events: z.int().min(0),
  segments: z.array(segmentSchema),
  /** The hash tree over the events of each workspace. */
  trees: z.array(treeSchema),
  /** Tombstones whose events the log still contained. */
  erasing: z.array(tombstoneSchema),
  /** Rows of the state store. */
  state: z.array(z.strictObject({ ...fileSchema.shape, table: z.string(), rows: z.int().min(1) })),
  /** Lists of the bytes of documents and messages in the backup. */
  objects: z.array(fileSchema),
  /** The service's keys, sealed. */
  keys: fileSchema,
  ...signatureFields,
});
export type Manifest = z.infer<typeof manifestSchema>;

const NAME = 'manifest.json';

/** Signs a manifest and replaces the previous one: from then on the backup is the new one, complete. */
export async function writeManifest(
  target: BackupTarget,
  manifest: Omit<Manifest, keyof typeof signatureFields>,
  signingKey: SigningKey,
): Promise<Manifest> {
  const signed = signObject(manifest, signingKey);
  const text = `${JSON.stringify(signed, undefined, 2)}\n`;
  await target.write(NAME, oneChunk(Buffer.from(text)));
  return signed;
}

/**
 * Returns the manifest of the backup in a place, whose signature is yet to be checked; undefined when there is none. Rejects with
 * `conflict` when it is invalid, or from a later version of the service.
 */
export async function readManifest(target: BackupTarget): Promise<Manifest | undefined> {
  let text: string;
  try {
    text = (await buffer(await target.read(NAME))).toString();
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'not_found') return undefined;
    throw error;
  }
  const found = parse(text);
  const type = (found as { type?: unknown } | undefined)?.type;
  if (
    typeof type === 'string' &&
    /^chartledger\.backup\.v\d+$/.test(type) &&
    type !== 'chartledger.backup.v1'
  )
    throw broken(target, `it was written by a later version of the service (${type})`);
  const { data } = manifestSchema.safeParse(found);
  if (data === undefined) throw broken(target, 'it is not the manifest of a backup');
  isEarlierFormat(target.place, data.format ?? 0);
  return data;
}

/** The same; rejects with `not_found` when there is none, and with `conflict` when its signature is invalid. */
export async function requireManifest(target: BackupTarget, publicKeys: PublicKeys): Promise<Manifest> {
  const manifest = await readManifest(target);
  if (manifest === undefined) throw noBackup(target);
  const problem = publicKeys.problem(manifest);
  if (problem) throw broken(target, problem);
  return manifest;
}

export function noBackup({ place }: BackupTarget): ServiceError {
  return new ServiceError('not_found', `No backup was found in ${place}.`);
}

/** Returns the names of all files of a backup except those of documents. */
export function filesOf({ segments, state, objects, keys }: Manifest): string[] {
  return [NAME, ...[...segments, ...state, ...objects, keys].map(({ name }) => name)];
}

/** Returns the SHA-256, in lower-case hex. */
export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function broken({ place }: BackupTarget, problem: string): ServiceError {
  return new ServiceError('conflict', `The manifest of the backup in ${place} is not valid: ${problem}.`);
}
