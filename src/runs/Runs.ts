import { setTimeout as sleep } from 'node:timers/promises';
import { describeError, ServiceError } from '../errors.ts';
import type { Principal } from '../events/eventMetadata.ts';
import type { StateRow, StateStore, StateTable } from '../ports/stateStore.ts';
import type { SharedPlaces } from '../threads/SharedPlaces.ts';
import type { Run } from './run.ts';
import { Turn } from './Turn.ts';

const TELL_MS = 1_000;
/** Whoever gave no sign of life for so long is gone. */
const SILENT_MS = 15_000;

export interface RunPorts<Body extends Run> {
  stateStore: StateStore;
  /** A row a workspace. Where it is lost, the result of the last run is. */
  table: StateTable<Body>;
  /** What it is called where a second one is refused: `verification`. */
  title: string;
  /**
   * Does it, and gives what came of it, its outcome included; tells now and then how far it is. Where the signal ends it, or it
   * rejects, that is its outcome.
   */
  work(
    run: Readonly<Body>,
    reached: (changes: Partial<Body>) => void,
    signal: AbortSignal,
  ): Promise<Partial<Body>>;
  /** Told of why one failed. */
  onFailure(error: Record<string, unknown>): void;
  /** As many as run at once in the process. */
  places: SharedPlaces;
}

/** What a run begins with; the rest is the same for all. */
export type Begun<Body extends Run> = Omit<Body, keyof Run>;

/**
 * What takes long and is asked for on the dashboard: some at a time in this process, and one at a time of each workspace among all. How
 * far one is, and what came of the last one, is kept in the state store for all processes.
 */
export class Runs<Body extends Run> {
  readonly #ports: RunPorts<Body>;
  readonly #stop = new AbortController();
  readonly #running = new Set<Promise<void>>();

  constructor(ports: RunPorts<Body>) {
    this.#ports = ports;
  }

  /** The last one of a workspace, as far as it has come; undefined when there was none. Rejects with `unavailable`. */
  async last(workspace: string): Promise<Body | undefined> {
    const body = (await this.#load(workspace))?.body;
    return body && isCutOff(body) ? { ...body, ended_at: body.updated_at, outcome: 'stopped' } : body;
  }

  /**
   * Begins one in the name of a principal with what `begin` makes of the last one, once `record` has told the audit trail of it. Rejects with
   * `conflict` while another one is under way, with what these reject with, and with `unavailable`.
   */
  async start(
    workspace: string,
    askedBy: Principal,
    begin: (last: Body | undefined) => Begun<Body>,
    record: () => Promise<unknown>,
  ): Promise<void> {
    if (this.#stop.signal.aborted || !this.#ports.places.take()) throw this.#underWay();
    const { promise: claimed, resolve: claim } = Promise.withResolvers<Turn<Body> | undefined>();
    const running = claimed
      .then((turn) => this.#run(turn))
      .finally(() => {
        this.#running.delete(running);
      });
    this.#running.add(running);
    let turn: Turn<Body> | undefined;
    try {
      const before = await this.#load(workspace);
      if (before && before.body.outcome === undefined && !isCutOff(before.body)) throw this.#underWay();
      const started_at = new Date().toISOString();
      const common = { asked_by: askedBy, started_at, updated_at: started_at };
      const body = { ...begin(before?.body), ...common } as unknown as Body;
      await record();
      const taken = new Turn(this.#ports, workspace, body, before?.revision);
      if (!(await taken.tell())) throw this.#underWay();
      turn = taken;
    } finally {
      claim(turn);
    }
  }

  /** Ends what is under way; its result says so. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
  }

  #underWay(): ServiceError {
    const { title } = this.#ports;
    return new ServiceError('conflict', `A ${title} is already in progress. Only one can run at a time.`);
  }

  async #load(workspace: string): Promise<StateRow<Body> | undefined> {
    const [row] = await this.#ports.stateStore.load(this.#ports.table, [workspace]);
    return row;
  }

  /** Gives the place back once the work is done; never rejects. */
  async #run(turn: Turn<Body> | undefined): Promise<void> {
    const ended = turn && (await this.#work(turn));
    // Before its end is told: who reads of that begins the next one.
    this.#ports.places.give();
    if (turn === undefined || ended === undefined) return;
    turn.end(ended);
    // A store that is away must not cost the result; a stop does not wait for it.
    for (;;) {
      const answered = await turn.tell().then(
        () => true,
        () => false,
      );
      if (answered || this.#stop.signal.aborted) return;
      await sleep(TELL_MS);
    }
  }

  /** Does the work of a turn, and tells how far it is. */
  async #work(turn: Turn<Body>): Promise<Partial<Body>> {
    const lost = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, lost.signal]);
    const telling = setInterval(async () => {
      // A store that is away is told the next time; another process that took this one for gone has the turn.
      if ((await turn.tell().catch(() => undefined)) === false) lost.abort();
    }, TELL_MS);
    const ended = await this.#outcome(turn, signal);
    clearInterval(telling);
    return ended;
  }

  async #outcome(turn: Turn<Body>, signal: AbortSignal): Promise<Partial<Body>> {
    const endedAs = (outcome: string) => ({ outcome }) as Partial<Body>;
    try {
      return await this.#ports.work(turn.body, turn.reached.bind(turn), signal);
    } catch (error) {
      if (signal.aborted) return endedAs('stopped');
      this.#ports.onFailure(describeError(error));
      return endedAs('failed');
    }
  }
}

function isCutOff({ outcome, updated_at }: Run): boolean {
  return outcome === undefined && Date.now() - Date.parse(updated_at) > SILENT_MS;
}
