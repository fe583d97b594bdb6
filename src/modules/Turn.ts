import type { StateStore, StateTable } from '../storage/stateStore.ts';
import type { Run } from './run.ts';

/** A workspace's run that this process has taken on. */
export class Turn<Body extends Run> {
  readonly #stateStore: StateStore;
  readonly #table: StateTable<Body>;
  readonly #workspace: string;
  #revision: number | undefined;
  #told: Promise<boolean> = Promise.resolve(true);
  readonly body: Body;

  /** `revision`: that of the previous run's row, if there was one. */
  constructor(
    { stateStore, table }: { stateStore: StateStore; table: StateTable<Body> },
    workspace: string,
    body: Body,
    revision: number | undefined,
  ) {
    this.#stateStore = stateStore;
    this.#table = table;
    this.#workspace = workspace;
    this.body = body;
    this.#revision = revision;
  }

  reached(changes: Partial<Body>): void {
    Object.assign(this.body, changes);
  }

  end(ended: Partial<Body>): void {
    Object.assign(this.body, ended, { ended_at: new Date().toISOString() });
  }

  /** Reports its state to all processes; resolves with false when another one has the turn. */
  tell(): Promise<boolean> {
    // Each write builds upon the one before.
    this.#told = this.#told.then(
      () => this.#tell(),
      () => this.#tell(),
    );
    return this.#told;
  }

  async #tell(): Promise<boolean> {
    const id = this.#workspace;
    const revision = (this.#revision ?? 0) + 1;
    const body = { ...this.body, updated_at: new Date().toISOString() };
    const row = { id, partition: id, order: 0, revision, body };
    if (await this.#stateStore.swap(this.#table, row, this.#revision)) {
      this.#revision = revision;
      return true;
    }
    // The response to an earlier write may have been lost, though the write was made.
    const [found] = await this.#stateStore.load(this.#table, [id]);
    if (found?.body.started_at !== this.body.started_at) return false;
    this.#revision = found.revision;
    return true;
  }
}
