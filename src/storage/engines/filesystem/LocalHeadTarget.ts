import { constants } from 'node:fs';
import { copyFile, link, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { unavailable } from '../../../platform/errors.ts';
import type { HeadTarget, KeptHead } from '../../headTarget.ts';
import { fileProblem } from '../fileProblem.ts';
import { OneAtATime } from '../OneAtATime.ts';
import { syncFolder } from './durableFiles.ts';

const LIMIT_MS = 10_000;
/** Error codes of file systems without hard links. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

/**
 * Heads as files in a folder. The folder is not created: if it is missing, so perhaps is the disk that should be mounted there.
 */
export class LocalHeadTarget implements HeadTarget {
  readonly #folder: string;
  readonly #operations = new OneAtATime();

  constructor(folder: string) {
    this.#folder = folder;
  }

  get place(): string {
    return this.#folder;
  }

  async keep(name: string, text: string): Promise<void> {
    await this.#within(() => this.#keep(name, text), 'does not take a file');
  }

  async *kept(prefix: string): AsyncGenerator<KeptHead> {
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

  async #keep(name: string, text: string): Promise<void> {
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
