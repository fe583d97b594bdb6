import type { Position } from '../../domain/events/event.ts';
import type { Principal } from '../../domain/events/eventMetadata.ts';
import { SharedPlaces } from '../../platform/threads/SharedPlaces.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { Runs } from '../Runs.ts';
import type { PublicKeys } from './PublicKeys.ts';
import type { SigningKey } from './SigningKey.ts';
import { sentHeads } from './sentHeads.ts';
import { signTreeHead, type TreeHead } from './treeHead.ts';
import { type Verification, type VerificationOutcome, verificationTable } from './verification.ts';
import type { VerifiedHistory } from './verifyAgainstHeads.ts';

/** Maximum number of concurrent verifications in a process. */
export const MOST_VERIFICATIONS = 1;

/** What is verified, and against what. */
export interface VerificationJob {
  workspace: string;
  /** The last head sent, if any. */
  sent: TreeHead | undefined;
  /** `PublicKeys.text()`: for checking the heads. */
  publicKeys: string | undefined;
}

/** Verifies outside the request path, until done or aborted by the signal; reports progress from time to time. */
export type RunVerification = (
  job: VerificationJob,
  onProgress: (position: Position, until: Position, events: number) => void,
  signal: AbortSignal,
) => Promise<VerifiedHistory>;

export interface VerificationPorts {
  stateStore: StateStore;
  run: RunVerification;
  /** Returns the key that signs heads; undefined in a process that does not have it. */
  signingKey(): Promise<SigningKey | undefined>;
  /** Returns the keys for checking heads, whatever their source. */
  publicKeys(): Promise<PublicKeys | undefined>;
  /** Called with the reason when one failed. */
  onFailure(error: Record<string, unknown>): void;
  /** The places of `MOST_VERIFICATIONS`; private ones if no other thread verifies. */
  places?: SharedPlaces;
}

/** Verifies histories on demand. */
export class Verifications {
  readonly #runs: Runs<Verification>;

  constructor(ports: VerificationPorts) {
    const { stateStore, onFailure, places = new SharedPlaces(MOST_VERIFICATIONS) } = ports;
    this.#runs = new Runs({
      ...{ stateStore, onFailure, places, table: verificationTable, title: 'verification' },
      work: ({ workspace }, reached, signal) => verify(ports, workspace, reached, signal),
    });
  }

  /** Returns the last one of a workspace, as `Runs.last` does. */
  last(workspace: string): Promise<Verification | undefined> {
    return this.#runs.last(workspace);
  }

  /** Starts one, as `Runs.start` does. */
  start(workspace: string, askedBy: Principal, record: () => Promise<unknown>): Promise<void> {
    const begun = { workspace, position: 0, until: 0, events: 0 };
    return this.#runs.start(workspace, askedBy, () => begun, record);
  }

  /** Ends the one under way; its result says so. */
  close(): Promise<void> {
    return this.#runs.close();
  }
}

async function verify(
  { stateStore, run, signingKey, publicKeys }: VerificationPorts,
  workspace: string,
  reached: (changes: Partial<Verification>) => void,
  signal: AbortSignal,
): Promise<Partial<Verification>> {
  const sent = (await sentHeads(stateStore, [workspace])).get(workspace);
  const job = { workspace, sent, publicKeys: (await publicKeys())?.text() };
  signal.throwIfAborted();
  const onProgress = (position: Position, until: Position, events: number) =>
    reached({ position, until, events });
  const { findings, tree, lastEvent } = await run(job, onProgress, signal);
  const outcome = outcomeOf(findings);
  const key = outcome === 'holds' && tree.size > 0 ? await signingKey() : undefined;
  const head = key && signTreeHead(workspace, tree, lastEvent, key);
  return { outcome, findings, events: findings.events, ...(head && { head }) };
}

function outcomeOf({ problems, compared, heads }: VerifiedHistory['findings']): VerificationOutcome {
  if (problems.length > 0) return 'does_not_hold';
  return compared === 0 && heads === 0 ? 'nothing_compared' : 'holds';
}
