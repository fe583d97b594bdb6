import { fileIdentity } from './fileIdentity.ts';

/**
 * Files that were opened by their paths: others may have taken their names since, or nothing is there any more. They must be
 * open all the while: the file system would give the number of one that is gone and closed to another.
 */
export class OpenedFiles {
  readonly #identities: [path: string, identity: string | undefined][];

  constructor(...paths: string[]) {
    this.#identities = paths.map((path) => [path, fileIdentity(path)]);
  }

  /** The first path that no longer names what was opened by it; undefined while all of them do. */
  moved(): string | undefined {
    return this.#identities.find(([path, identity]) => fileIdentity(path) !== identity)?.[0];
  }
}
