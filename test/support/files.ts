import { execFileSync } from 'node:child_process';
import {
  closeSync,
  cpSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { MongoClient } from 'mongodb';
import { fromBufferPromise } from 'yauzl';
import type { Config } from '../../src/platform/config.ts';
import { type CliResult, runCli, storesOf, temporaryFolder } from './cli.ts';
import type { TestResponse } from './client.ts';

/** A place that takes the backups of a service, a new folder by default, with the commands that an operator gives. */
export class BackupFolder {
  readonly path: string;
  readonly #env: Record<string, string>;
  readonly #passphrase: string;

  constructor(config: Config, path = join(temporaryFolder(), 'backup')) {
    this.path = path;
    this.#env = { ...storesOf(config), DATA_DIR: config.dataDir };
    this.#passphrase = this.passphraseFile('correct horse battery staple');
  }

  /** A file with a passphrase. */
  passphraseFile(passphrase: string): string {
    const path = join(temporaryFolder(), 'passphrase');
    writeFileSync(path, `${passphrase}\n`);
    return path;
  }

  take(...options: string[]): Promise<CliResult> {
    return this.run('backup', this.path, ...options);
  }

  verify(...options: string[]): Promise<CliResult> {
    return this.run('backup', 'verify', this.path, ...options);
  }

  /** Restores it into a new data folder, or the given one. */
  async restore(options: string[] = [], dataDir = join(temporaryFolder(), 'data')) {
    const result = await this.run('restore', this.path, '--data-dir', dataDir, ...options);
    return { ...result, dataDir };
  }

  /** Runs a command with the passphrase, unless another one is given. */
  run(...args: string[]): Promise<CliResult> {
    const isGiven = args.includes('--passphrase-file') || args.includes('--public-key');
    const given = isGiven ? [] : ['--passphrase-file', this.#passphrase];
    return runCli([...args, ...given], { env: this.#env });
  }

  /** The names of its files, sorted. */
  files(): string[] {
    return readdirSync(this.path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(this.path.length + 1))
      .toSorted();
  }

  /** What all of them say, those that are compressed in plain text. */
  text(): string {
    const texts = this.files().map((name) => {
      const bytes = readFileSync(join(this.path, name));
      return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('latin1');
    });
    return texts.join('\n');
  }
}

/** What a release left of a store besides its files: how to open it, what it served of it, and its signed heads. */
export interface FrozenStore {
  settings: Record<string, string>;
  key: string;
  /** The types of its events. */
  types: string[];
  /** Bodies of answers, by path. */
  answers: Record<string, unknown>;
  /** The event stream from the beginning. */
  events: unknown[];
  /** Signed heads by workspace. */
  heads: Record<string, unknown>;
}

const document = '/integration/encounters/encounter-1/documents';

/** What is read of a frozen store: answers that do not depend on the day. */
export const frozenPaths = [
  ...['payers/payer-1', 'patients/patient%2F1', 'providers/provider-1'].flatMap(withHistory),
  ...['facilities/facility-1', 'encounters/encounter-1'].flatMap(withHistory),
  ...['payers', 'patients', 'providers', 'facilities', 'encounters'].map((kind) => `/integration/${kind}`),
  ...[document, `${document}/document-1/history`, `${document}/document-2/history`],
];

function withHistory(place: string): string[] {
  return [`/integration/${place}`, `/integration/${place}/history`];
}

/** Copies a frozen store to a folder; with what is known of it. */
export function thawStore(release: string, to: string): FrozenStore {
  const from = join('test/fixtures/stores', release);
  cpSync(from, to, { recursive: true });
  return JSON.parse(readFileSync(join(from, 'frozen.json'), 'utf8'));
}

/** The events of an answer of the stream. */
export function streamLines({ text }: TestResponse): unknown[] {
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** A file system of its own size in memory. Needs `canMount`. */
export class SmallDisk {
  readonly path = mkdtempSync(join(tmpdir(), 'chartledger-disk-'));

  /** `size` as `mount` takes it: `64k`. */
  constructor(size: string) {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', this.path], { stdio: 'ignore' });
  }

  resize(size: string): void {
    execFileSync('mount', ['-o', `remount,size=${size}`, this.path]);
  }

  /** Nobody may write any longer, or may again. Fails where a file is open to be written. */
  setReadOnly(isReadOnly: boolean): void {
    execFileSync('mount', ['-o', `remount,${isReadOnly ? 'ro' : 'rw'}`, this.path]);
  }

  /** Something else takes all the room there is; the result gives it back. */
  fill(): () => void {
    const dump = join(this.path, 'dump');
    const file = openSync(dump, 'a');
    const chunk = Buffer.alloc(4_096);
    try {
      for (;;) writeSync(file, chunk);
    } catch {
      closeSync(file);
    }
    return () => rmSync(dump);
  }

  remove(): void {
    execFileSync('umount', ['-l', this.path]);
    rmSync(this.path, { recursive: true });
  }
}

/** Whether this process may mount file systems: root on Linux. */
export function canMount(): boolean {
  try {
    new SmallDisk('64k').remove();
    return true;
  } catch {
    process.stdout.write('Skipped: file systems cannot be mounted here.\n');
    return false;
  }
}

/** All files of a folder and those within it. */
export function pathsIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** The same, with what they hold. */
export function filesIn(folder: string): [name: string, bytes: Buffer][] {
  return pathsIn(folder).map((name) => [name, readFileSync(name)]);
}

/** All collections of a database of MongoDB, with what they hold; nothing of another URL. */
export async function rowsOf(url: string | undefined): Promise<[name: string, text: string][]> {
  if (!url?.startsWith('mongodb')) return [];
  const client = await MongoClient.connect(url);
  try {
    const collections = await client.db().collections();
    return await Promise.all(
      collections.map(
        async (one): Promise<[string, string]> => [
          one.collectionName,
          JSON.stringify(await one.find().toArray()),
        ],
      ),
    );
  } finally {
    await client.close();
  }
}

/** The files that a service's documents folder holds, as `objects` and `uploads` (those under way), without the probe of its health. */
export function storedFiles({ documentsUrl }: Config): { objects: string[]; uploads: string[] } {
  const folder = documentsUrl.slice('file:'.length);
  const files = (name: string) =>
    readdirSync(join(folder, name), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.startsWith('check-'))
      .map((entry) => entry.name);
  return { objects: files('objects'), uploads: files('uploads') };
}

/** The files in a ZIP, by name. */
export async function unzipped(bytes: Buffer): Promise<Map<string, Buffer>> {
  const zip = await fromBufferPromise(bytes);
  const files = new Map<string, Buffer>();
  for await (const entry of zip.eachEntry()) {
    files.set(entry.fileName, await buffer(await zip.openReadStreamPromise(entry)));
  }
  return files;
}
