import { constants, createReadStream } from 'node:fs';
import { copyFile, link, open, opendir, readdir, readFile, rm } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { Readable } from 'node:stream';
import { ServiceError, unavailable } from '../../../platform/errors.ts';
import type { BackupTarget, PublishedHead, TreeHeadPublisher } from '../../targets.ts';
import { fileProblem, SerialQueue } from '../shared.ts';
import { makeFolder, moveDurably, syncFolder, writeDurably } from './files.ts';

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

const LIMIT_MS = 10_000;
/** Error codes of file systems without hard links. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

/**
 * Heads as files in a folder. The folder is not created: if it is missing, so perhaps is the disk that should be mounted there.
 */
export class LocalTreeHeadPublisher implements TreeHeadPublisher {
  readonly #folder: string;
  readonly #operations = new SerialQueue();

  constructor(folder: string) {
    this.#folder = folder;
  }

  get place(): string {
    return this.#folder;
  }

  async write(name: string, text: string): Promise<void> {
    await this.#within(() => this.#write(name, text), 'does not take a file');
  }

  async *list(prefix: string): AsyncGenerator<PublishedHead> {
    const names = await this.#within(() => readdir(this.#folder), 'cannot be read');
    for (const name of names.filter((one) => one.startsWith(prefix) && one.endsWith('.json')).toSorted()) {
      const text = await this.#within(
        () => readFile(join(this.#folder, name), 'utf8'),
        'has a file that cannot be read',
      );
      yield { name, text };
    }
  }

  /** `otherwise` describes the folder's problem if the file system's error does not. */
  async #within<Result>(work: () => Promise<Result>, otherwise: string): Promise<Result> {
    try {
      return await this.#operations.within(LIMIT_MS, work);
    } catch (error) {
      const problem = fileProblem(this.#folder, error) ?? `${this.#folder} ${otherwise}.`;
      throw unavailable('target of heads', error, problem);
    }
  }

  async #write(name: string, text: string): Promise<void> {
    const path = join(this.#folder, name);
    const draft = `${path}.part`;
    try {
      const file = await open(draft, 'w');
      try {
        await file.writeFile(text);
        await file.sync();
      } finally {
        await file.close();
      }
      await link(draft, path).catch((error: NodeJS.ErrnoException) => {
        if (!NO_LINKS.includes(error.code ?? '')) throw error;
        return copyFile(draft, path, constants.COPYFILE_EXCL);
      });
      await syncFolder(this.#folder);
    } finally {
      await rm(draft, { force: true }).catch(() => undefined);
    }
  }
}
