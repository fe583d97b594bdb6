import { fileIdentity } from './fileIdentity.ts';

/**
 * Files opened by path, whose names others may have taken since, or which may have been deleted. They must stay open: the file
 * system could otherwise reuse a deleted file's number for another file.
 */
export class OpenedFiles {
  readonly #identities: [path: string, identity: string | undefined][];

  constructor(...paths: string[]) {
    this.#identities = paths.map((path) => [path, fileIdentity(path)]);
  }

  /** Returns the first path that no longer names the file opened by it; undefined while all of them do. */
  moved(): string | undefined {
    return this.#identities.find(([path, identity]) => fileIdentity(path) !== identity)?.[0];
  }
}
