import { createReadStream } from 'node:fs';
import { open, opendir, rm } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { Readable } from 'node:stream';
import { ServiceError, unavailable } from '../../../platform/errors.ts';
import type { BackupTarget } from '../../backupTarget.ts';
import { fileProblem } from '../fileProblem.ts';
import { makeFolder, moveDurably, writeDurably } from './durableFiles.ts';

/** A backup in a folder, which is created on the first write. Its files are accessible only to their owner. */
export class LocalBackupTarget implements BackupTarget {
  readonly place: string;

  constructor(folder: string) {
    this.place = folder;
  }

  async write(name: string, source: AsyncIterable<Uint8Array>): Promise<void> {
    const path = join(this.place, name);
    const draft = `${path}.part`;
    await this.#io(async () => {
      await makeFolder(join(path, '..'));
      await rm(draft, { force: true });
    });
    await writeDurably(draft, Readable.from(source), (work) => this.#io(work));
    await this.#io(() => moveDurably(draft, path));
  }

  async read(name: string): Promise<Readable> {
    const path = join(this.place, name);
    const file = await this.#io(() =>
      open(path).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
        return undefined;
      }),
    );
    if (file === undefined) throw new ServiceError('not_found', `There is no file ${path}.`);
    return Readable.from(this.#chunks(createReadStream(path, { fd: file })), { objectMode: false });
  }

  async *names(): AsyncGenerator<string> {
    let folder: Awaited<ReturnType<typeof opendir>>;
    try {
      folder = await opendir(this.place, { recursive: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw this.#problem(error);
    }
    try {
      for await (const entry of folder) {
        if (!entry.isDirectory())
          yield relative(this.place, join(entry.parentPath, entry.name)).replaceAll(sep, '/');
      }
    } catch (error) {
      throw this.#problem(error);
    }
  }

  async delete(name: string): Promise<void> {
    await this.#io(() => rm(join(this.place, name), { force: true }));
  }

  async *#chunks(source: Readable): AsyncGenerator<Uint8Array> {
    try {
      yield* source;
    } catch (error) {
      throw this.#problem(error);
    }
  }

  async #io<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw this.#problem(error);
    }
  }

  #problem(error: unknown): ServiceError {
    const { code } = error as NodeJS.ErrnoException;
    const problem =
      fileProblem(this.place, error) ?? `${this.place} cannot be read or written (${code ?? 'unknown'}).`;
    return unavailable('place of the backup', error, problem);
  }
}
