import type { KeyObject } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeError, ServiceError } from '../../errors.ts';
import type { Position } from '../../events/event.ts';
import type { Principal } from '../../events/eventMetadata.ts';
import type { StateRow, StateStore } from '../../ports/stateStore.ts';
import { SharedPlaces } from '../../threads/SharedPlaces.ts';
import { sentHeads } from '../heads/sentHeads.ts';
import { signTreeHead, type TreeHead } from '../treeHead.ts';
import { type Verification, type VerificationOutcome, verificationTable } from './verification.ts';
import type { VerifiedHistory } from './verifyAgainstHeads.ts';

/** Verifications at once in a process. */
export const MOST_VERIFICATIONS = 1;
const TELL_MS = 1_000;
/** Whoever gave no sign of life for so long is gone. */
const SILENT_MS = 15_000;

/** What is verified, and against what. */
export interface VerificationJob {
  workspace: string;
  /** The last head that was sent, if there is one. */
  sent: TreeHead | undefined;
  /** Of the key that signed the heads. */
  publicKey: KeyObject | undefined;
}

/** Verifies off the request path, until it is through or the signal; tells now and then how far it is. */
export type RunVerification = (
  job: VerificationJob,
  onProgress: (position: Position, until: Position, events: number) => void,
  signal: AbortSignal,
) => Promise<VerifiedHistory>;

export interface VerificationPorts {
  stateStore: StateStore;
  run: RunVerification;
  /** The key that signs heads; undefined in a process from which it is kept. */
  signingKey(): Promise<KeyObject | undefined>;
  /** The public key of heads, wherever it is known from. */
  publicKey(): Promise<KeyObject | undefined>;
  /** Told of why one failed. */
  onFailure(error: Record<string, unknown>): void;
  /** Of `MOST_VERIFICATIONS`; its own, where no other thread verifies. */
  places?: SharedPlaces;
}

/**
 * Verifies histories on demand: one at a time in this process, and one at a time of each workspace among all. How far one
 * is, and what came of the last one, is kept in the state store for all processes.
 */
export class Verifications {
  readonly #ports: VerificationPorts;
  readonly #places: SharedPlaces;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(ports: VerificationPorts) {
    this.#ports = ports;
    this.#places = ports.places ?? new SharedPlaces(MOST_VERIFICATIONS);
  }

  /** The last one of a workspace, as far as it has come; undefined when there was none. Rejects with `unavailable`. */
  async last(workspace: string): Promise<Verification | undefined> {
    const body = (await this.#load(workspace))?.body;
    return body && isCutOff(body) ? { ...body, ended_at: body.updated_at, outcome: 'stopped' } : body;
  }

  /**
   * Begins one in the name of a principal, once `record` has told the audit trail of it. Rejects with `conflict` while another
   * one is under way, and with `unavailable`.
   */
  async start(workspace: string, askedBy: Principal, record: () => Promise<unknown>): Promise<void> {
    if (this.#stop.signal.aborted || !this.#places.take()) throw underWay();
    const { promise: claimed, resolve: begin } = Promise.withResolvers<Turn | undefined>();
    this.#running = claimed
      .then((turn) => turn && this.#verify(turn))
      .finally(() => {
        this.#places.give();
        this.#running = undefined;
      });
    let turn: Turn | undefined;
    try {
      const before = await this.#load(workspace);
      if (before && before.body.outcome === undefined && !isCutOff(before.body)) throw underWay();
      await record();
      const claim = new Turn(this.#ports.stateStore, newVerification(workspace, askedBy), before?.revision);
      if (!(await claim.tell())) throw underWay();
      turn = claim;
    } finally {
      begin(turn);
    }
  }

  /** Ends the one that is under way; its result says so. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #load(workspace: string): Promise<StateRow<Verification> | undefined> {
    const [row] = await this.#ports.stateStore.load(verificationTable, [workspace]);
    return row;
  }

  /** Never rejects. */
  async #verify(turn: Turn): Promise<void> {
    const lost = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, lost.signal]);
    const telling = setInterval(async () => {
      // A store that is away is told the next time; another process that took this one for gone has the turn.
      if ((await turn.tell().catch(() => undefined)) === false) lost.abort();
    }, TELL_MS);
    const ended = await this.#outcome(turn, signal);
    clearInterval(telling);
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

  async #outcome(turn: Turn, signal: AbortSignal): Promise<Partial<Verification>> {
    const { workspace } = turn.verification;
    const { stateStore, run, signingKey, publicKey } = this.#ports;
    try {
      const sent = (await sentHeads(stateStore, [workspace])).get(workspace);
      const job = { workspace, sent, publicKey: await publicKey() };
      signal.throwIfAborted();
      const { findings, tree, lastEvent } = await run(job, turn.reached.bind(turn), signal);
      const outcome = outcomeOf(findings);
      const key = outcome === 'holds' && tree.size > 0 ? await signingKey() : undefined;
      const head = key && signTreeHead(workspace, tree, lastEvent, key);
      return { outcome, findings, events: findings.events, ...(head && { head }) };
    } catch (error) {
      if (signal.aborted) return { outcome: 'stopped' };
      this.#ports.onFailure(describeError(error));
      return { outcome: 'failed' };
    }
  }
}

/** One verification that this process does. */
class Turn {
  readonly #stateStore: StateStore;
  #revision: number | undefined;
  #told: Promise<boolean> = Promise.resolve(true);
  verification: Verification;

  constructor(stateStore: StateStore, verification: Verification, revision: number | undefined) {
    this.#stateStore = stateStore;
    this.#revision = revision;
    this.verification = verification;
  }

  reached(position: Position, until: Position, events: number): void {
    Object.assign(this.verification, { position, until, events });
  }

  /** Tells all processes how it stands; false when another one has the turn. */
  tell(): Promise<boolean> {
    // Each write builds upon the one before.
    this.#told = this.#told.then(
      () => this.#tell(),
      () => this.#tell(),
    );
    return this.#told;
  }

  end(ended: Partial<Verification>): void {
    Object.assign(this.verification, ended, { ended_at: new Date().toISOString() });
  }

  async #tell(): Promise<boolean> {
    const { workspace } = this.verification;
    const revision = (this.#revision ?? 0) + 1;
    const body = { ...this.verification, updated_at: new Date().toISOString() };
    const row = { id: workspace, partition: workspace, order: 0, revision, body };
    if (await this.#stateStore.swap(verificationTable, row, this.#revision)) {
      this.#revision = revision;
      return true;
    }
    // The answer to an earlier write may have been lost, though it was made.
    const [found] = await this.#stateStore.load(verificationTable, [workspace]);
    if (found?.body.started_at !== this.verification.started_at) return false;
    this.#revision = found.revision;
    return true;
  }
}

function newVerification(workspace: string, asked_by: Principal): Verification {
  const started_at = new Date().toISOString();
  return { workspace, asked_by, started_at, updated_at: started_at, position: 0, until: 0, events: 0 };
}

function isCutOff({ outcome, updated_at }: Verification): boolean {
  return outcome === undefined && Date.now() - Date.parse(updated_at) > SILENT_MS;
}

function outcomeOf({ problems, compared, heads }: VerifiedHistory['findings']): VerificationOutcome {
  if (problems.length > 0) return 'does_not_hold';
  return compared === 0 && heads === 0 ? 'nothing_compared' : 'holds';
}

function underWay(): ServiceError {
  return new ServiceError('conflict', 'A verification is under way already. One runs at a time.');
}
