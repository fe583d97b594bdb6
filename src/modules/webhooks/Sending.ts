interface SendingEvents {
  /** Called when something under way failed. */
  failed(error: unknown): void;
  /** Called when something is no longer under way. */
  settled(): void;
}

/** What is being sent to an endpoint. */
export class Sending {
  readonly #events: SendingEvents;
  readonly #tasks = new Set<Promise<void>>();

  constructor(events: SendingEvents) {
    this.#events = events;
  }

  /** How much is under way. */
  get size(): number {
    return this.#tasks.size;
  }

  start(work: () => Promise<void>): void {
    const task = work()
      .catch((error) => this.#events.failed(error))
      .finally(() => {
        this.#tasks.delete(task);
        this.#events.settled();
      });
    this.#tasks.add(task);
  }

  /** Resolves when nothing is under way. */
  async settle(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.all(this.#tasks);
  }
}
