import type { Principal } from '../../events/eventMetadata.ts';

/** Whoever knows the names of one type of principal, from a stream that it follows. */
export interface NameDirectory {
  /** What people call the principal of an id; undefined when none of that id is known. */
  nameOf(id: string): string | undefined;
  /** Reads on; what was appended before the call is known then. Rejects with `unavailable`. */
  refresh(): Promise<void>;
}

/** The names of those who act: also of keys that were deleted, and of users who were disabled. */
export class PrincipalNames {
  readonly #directories: Partial<Record<Principal['type'], NameDirectory>>;

  /** Principals of a type without a directory are known by their ids. */
  constructor(directories: Partial<Record<Principal['type'], NameDirectory>>) {
    this.#directories = directories;
  }

  /** The name of a principal; undefined when it is not known. */
  nameOf({ type, id }: Principal): string | undefined {
    const directory = this.#directories[type];
    return directory ? directory.nameOf(id) : id;
  }

  /**
   * Makes sure that the names of these are known, if they are known at all: another process may have made one a
   * moment ago. Rejects with `unavailable`.
   */
  async learn(principals: readonly Principal[]): Promise<void> {
    const types = new Set(principals.filter((one) => this.nameOf(one) === undefined).map(({ type }) => type));
    await Promise.all([...types].map((type) => this.#directories[type]?.refresh()));
  }
}
