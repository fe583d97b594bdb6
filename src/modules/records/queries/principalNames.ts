import type { Principal } from '../../../domain/events/event.ts';

/** Knows the names of one type of principal, from a stream that it follows. */
interface NameDirectory {
  /** Returns what people call the principal with an id; undefined when none with that id is known. */
  nameOf(id: string): string | undefined;
  /** Reads on; everything appended before the call is known afterwards. Rejects with `unavailable`. */
  refresh(): Promise<void>;
}

/** The names of principals, including deleted keys and disabled users. */
export class PrincipalNames {
  readonly #directories: Partial<Record<Principal['type'], NameDirectory>>;

  /** Principals of a type without a directory are known by their ids. */
  constructor(directories: Partial<Record<Principal['type'], NameDirectory>>) {
    this.#directories = directories;
  }

  /** Returns the name of a principal; undefined when it is not known. */
  nameOf({ type, id }: Principal): string | undefined {
    const directory = this.#directories[type];
    return directory ? directory.nameOf(id) : id;
  }

  /**
   * Makes sure that the names of these principals are known, if they can be: another process may have created one a
   * moment ago. Rejects with `unavailable`.
   */
  async learn(principals: readonly Principal[]): Promise<void> {
    const types = new Set(principals.filter((one) => this.nameOf(one) === undefined).map(({ type }) => type));
    await Promise.all([...types].map((type) => this.#directories[type]?.refresh()));
  }
}
