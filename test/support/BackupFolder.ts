import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Config } from '../../src/platform/config.ts';
import { type CliResult, runCli, storesOf, temporaryFolder } from './cli.ts';

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
