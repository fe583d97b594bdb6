import { createHash, randomBytes, randomUUID, scrypt } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { z } from 'zod';
import { canonicalJson } from '../../domain/events/canonicalJson.ts';
import type { ErasedEvent, RecordedEvent, UnreadableEvent } from '../../domain/events/event.ts';
import { isBookkeeping, workspaceOfStream } from '../../domain/events/streams.ts';
import { addLeaf, emptyTree, type Hash, type HashTree, storedLeaf } from '../../domain/merkle.ts';
import { decrypt, encrypt, SEALING_KEY_BYTES } from '../../platform/encryption.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { CopiedEvent, CopiedPlace } from '../../storage/eventLog.ts';
import { isEarlierFormat } from '../../storage/storeFormat.ts';
import type { BackupTarget } from '../../storage/targets.ts';
import {
  hashSchema,
  type PublicKeys,
  type SigningKey,
  signatureFields,
  signObject,
} from '../integrity/publicKeys.ts';

/** Converts a place of the log to its form in a backup. */
export function toCopied(place: RecordedEvent | UnreadableEvent | ErasedEvent): CopiedPlace {
  const { position, stream, revision, id } = place;
  const at = { position, stream, revision, id };
  if ('leaf' in place) return { ...at, leaf: place.leaf };
  if (!('data' in place)) return { ...at, type: place.type };
  const { type, recordedAt, metadata, metadataText, data, dataText } = place;
  return {
    ...at,
    ...{ type, recordedAt },
    // For a log that holds no texts, those from which the event's leaf is made.
    metadata: metadataText ?? (dataText === undefined ? canonicalJson(metadata) : JSON.stringify(metadata)),
    data: dataText ?? canonicalJson(data),
  };
}

/** Converts an event of a backup back to what the log returned. Throws when its texts are not JSON. */
export function toRecorded({ data, metadata, ...event }: CopiedEvent): RecordedEvent {
  return { ...event, data: JSON.parse(data), metadata: JSON.parse(metadata) };
}

export function isEvent(place: CopiedPlace): place is CopiedEvent {
  return 'data' in place;
}

/** Computes the hash trees of all workspaces over the events of a log, taken in order. */
export class Trees {
  readonly #trees: Map<string, HashTree>;

  constructor(trees: Manifest['trees'] = []) {
    this.#trees = new Map(trees.map(({ workspace, ...tree }) => [workspace, tree]));
  }

  /** Takes an event, or what is left of an erased one; the same ones that go into the read model of the tree. */
  add(event: RecordedEvent | ErasedEvent): void {
    if (isBookkeeping(event.stream)) return;
    if ('leaf' in event) this.#add(workspaceOfStream(event.stream), event.leaf);
    else this.#add(event.metadata.workspace, storedLeaf(event));
  }

  toManifest(): Manifest['trees'] {
    return [...this.#trees].map(([workspace, { size, chain, subtrees }]) => ({
      ...{ workspace, size, chain, subtrees },
    }));
  }

  get(workspace: string): HashTree {
    return this.#trees.get(workspace) ?? emptyTree;
  }

  #add(workspace: string, leaf: Hash): void {
    this.#trees.set(workspace, addLeaf(this.get(workspace), leaf));
  }
}

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
const manifestSchema = z.strictObject({
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
function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
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

/** Characters per file before compression: a file is in memory as a whole. The line that exceeds the limit is its last one. */
const MAX_LENGTH = 8 * 1024 * 1024;
/** Lines per file. */
export const MAX_LINES = 10_000;

/**
 * Writes values as files of JSON lines, compressed. Their names start with `name`, and are not used by other files. `onFile` is
 * called for each with the values it contains, once it is stored.
 */
export async function writeLineFiles<Value>(
  target: BackupTarget,
  nameOf: (first: Value) => string,
  values: AsyncIterable<Value> | Iterable<Value>,
  onFile: (file: BackupFile, values: Value[]) => void,
): Promise<void> {
  let lines: string[] = [];
  let held: Value[] = [];
  let length = 0;
  const flush = async () => {
    if (held.length === 0) return;
    onFile(await writeLines(target, nameOf(held[0] as Value), lines), held);
    [lines, held, length] = [[], [], 0];
  };
  for await (const value of values) {
    const line = JSON.stringify(value);
    lines.push(line);
    held.push(value);
    length += line.length;
    if (length >= MAX_LENGTH || held.length === MAX_LINES) await flush();
  }
  await flush();
}

async function writeLines(target: BackupTarget, name: string, lines: string[]): Promise<BackupFile> {
  const bytes = await promisify(gzip)(lines.map((line) => `${line}\n`).join(''));
  const file = {
    name: `${name}-${randomUUID().slice(0, 8)}.ndjson.gz`,
    bytes: bytes.length,
    sha256: sha256(bytes),
  };
  await target.write(file.name, oneChunk(bytes));
  return file;
}

/** Returns the bytes of a file. Rejects with `conflict` when it is missing, or differs from the one named in the manifest. */
export async function readFile(target: BackupTarget, { name, sha256: digest }: BackupFile): Promise<Buffer> {
  let bytes: Buffer;
  try {
    bytes = await buffer(await target.read(name));
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'not_found')
      throw damaged(target, name, 'is missing');
    throw error;
  }
  if (sha256(bytes) !== digest) throw damaged(target, name, 'was changed');
  return bytes;
}

/** Returns the values in a file written by `writeLineFiles`. Rejects as `readFile` does. */
export async function readLines<Value>(target: BackupTarget, file: BackupFile): Promise<Value[]> {
  const text = (await promisify(gunzip)(await readFile(target, file))).toString();
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** The error for an unusable file of a backup. */
export function damaged({ place }: BackupTarget, name: string, what: string): ServiceError {
  return new ServiceError('conflict', `The file ${name} of the backup in ${place} ${what}.`);
}

/** The service's keys by the names of their files in the data folder. */
export type ServiceKeys = ReadonlyMap<string, Buffer>;

/** Memory of 128 MB for each guess. */
const COST = { N: 2 ** 17, r: 8, p: 1 };
const MEMORY_BYTES = 192 * 1024 * 1024;
const SALT_BYTES = 16;
/** Minimum number of characters of a passphrase. */
export const LEAST_PASSPHRASE = 12;

const sealedSchema = z.strictObject({
  kdf: z.literal('scrypt'),
  N: z.literal(COST.N),
  r: z.literal(COST.r),
  p: z.literal(COST.p),
  salt: z.base64(),
  sealed: z.base64(),
});

/**
 * Writes the keys, sealed with a passphrase, for the log with an identity. Rejects with `validation_failed` when it is too short.
 */
export async function writeKeys(
  target: BackupTarget,
  log: string,
  keys: ServiceKeys,
  passphrase: string,
): Promise<BackupFile> {
  if (passphrase.length < LEAST_PASSPHRASE) {
    const message = `The passphrase of a backup must have at least ${LEAST_PASSPHRASE} characters.`;
    throw new ServiceError('validation_failed', message);
  }
  const salt = randomBytes(SALT_BYTES);
  const text = JSON.stringify([...keys].map(([name, key]) => [name, key.toString('base64')]));
  const sealed = encrypt(await derive(passphrase, salt), log, text);
  const bytes = Buffer.from(
    `${JSON.stringify({ kdf: 'scrypt', ...COST, salt: salt.toString('base64'), sealed })}\n`,
  );
  const file = { name: `keys-${sha256(bytes).slice(0, 8)}.json`, bytes: bytes.length, sha256: sha256(bytes) };
  await target.write(file.name, oneChunk(bytes));
  return file;
}

/** Returns the keys in the file. Rejects with `permission_denied` when the passphrase is wrong, and as `readFile` does. */
export async function readKeys(
  target: BackupTarget,
  { log, keys }: { log: string; keys: BackupFile },
  passphrase: string,
): Promise<ServiceKeys> {
  const { salt, sealed } = sealedSchema.parse(JSON.parse((await readFile(target, keys)).toString()));
  const key = await derive(passphrase, Buffer.from(salt, 'base64'));
  let text: string;
  try {
    text = decrypt(key, log, sealed);
  } catch {
    const message = `The passphrase does not unlock the keys of the backup in ${target.place}.`;
    throw new ServiceError('permission_denied', message);
  }
  const found = z.array(z.tuple([z.string(), z.base64()])).parse(JSON.parse(text));
  return new Map(found.map(([name, base64]) => [name, Buffer.from(base64, 'base64')]));
}

function derive(passphrase: string, salt: Buffer): Promise<Buffer> {
  const options = { ...COST, maxmem: MEMORY_BYTES };
  return promisify<string, Buffer, number, object, Buffer>(scrypt)(
    passphrase.normalize('NFC'),
    salt,
    SEALING_KEY_BYTES,
    options,
  );
}
