import type { Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../domain/events/newEvent.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import type { Workspace } from '../../modules/auth/apiKeys.ts';
import type { KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import { acknowledgements } from '../../modules/integrations/hl7/acknowledge.ts';
import { splitMessages } from '../../modules/integrations/hl7/framing.ts';
import { type Hl7Issue, parseMessage } from '../../modules/integrations/hl7/parser.ts';
import { newStamp, type ReceivePorts, receiveMessage } from '../../modules/integrations/hl7/receive.ts';
import {
  claimOf,
  type MllpBinding,
  type Peer,
  type Source,
  type SourceCache,
  sourceOf,
} from '../../modules/integrations/sources.ts';
import { describeError, type ErrorCode, ServiceError } from '../../platform/errors.ts';
import { isInNetworks } from '../../platform/networks.ts';
import { type BatchPorts, BatchTally, recordBatch } from '../routes/batchRunner.ts';
import { hl7Fields, tallyMessage } from '../routes/hl7.ts';
import { mediaTypes } from '../schemas/errors.ts';
import { asServiceError, logFailure, statusOf } from '../server/answer.ts';
import { type Frame, MessageNotAccepted } from './connection.ts';

/** The source whose messages arrive on a connection. */
export interface Sender {
  workspace: Workspace;
  source: Source;
}

/** Why a connection belongs to no source, for operators. */
export type NoSender = 'no_source' | 'several_sources' | 'several_workspaces';

export interface SenderPorts {
  directory: Pick<KeyDirectory, 'known'>;
  sources: Pick<SourceCache, 'of'>;
}

const loopback = ['127.0.0.0/8', '::1/128'];

type BoundSender = Sender & { source: { mllp: MllpBinding } };

/** How long the bindings count as read: reading them is work for each workspace. */
const BOUND_MS = 250;

/** The bindings of all workspaces, and to whom connections belong by them. */
interface Bindings {
  readAt: number;
  /** The workspaces whose sources were read: a later one may have bound sources. */
  workspaces: readonly Workspace[];
  senders: Promise<BoundSender[]>;
  found: WeakMap<Peer, Sender | NoSender>;
}

/** Determines to whom connections belong, by the bindings of the sources of all workspaces. */
export class Senders {
  readonly #directory: SenderPorts['directory'];
  readonly #sources: SenderPorts['sources'];
  #bindings: Bindings | undefined;

  constructor({ directory, sources }: SenderPorts) {
    this.#directory = directory;
    this.#sources = sources;
  }

  /**
   * Resolves with the source that claims a connection most surely. While no source of any workspace is bound, a
   * connection from this machine belongs to the default source of the only active workspace. Rejects with
   * `unavailable` and `unreadable`.
   */
  async of(peer: Peer): Promise<Sender | NoSender> {
    const { workspaces, senders, found } = this.#present();
    const bound = await senders;
    if (bound.length === 0) return this.#unbound(workspaces, peer);
    const known = found.get(peer);
    if (known !== undefined) return known;
    const sender = await this.#among(bound, peer);
    found.set(peer, sender);
    return sender;
  }

  #present(): Bindings {
    const now = performance.now();
    if (this.#bindings && now - this.#bindings.readAt < BOUND_MS) return this.#bindings;
    const workspaces = [...this.#directory.known.workspaces.values()];
    const bindings = { readAt: now, workspaces, senders: this.#bound(workspaces), found: new WeakMap() };
    bindings.senders.catch(() => {
      if (this.#bindings === bindings) this.#bindings = undefined;
    });
    this.#bindings = bindings;
    return bindings;
  }

  async #among(bound: readonly BoundSender[], peer: Peer): Promise<Sender | NoSender> {
    const claims = bound.map((one) => ({ one, claim: claimOf(one.source.mllp, peer) }));
    const surest = Math.max(...claims.map(({ claim }) => claim));
    const [found, another] = claims.filter(({ claim }) => claim > 0 && claim === surest);
    if (found === undefined) return 'no_source';
    return another === undefined ? found.one : 'several_sources';
  }

  /**
   * Resolves with the sender as it is now; undefined where the connection no longer belongs to its source: checked for
   * each message. Rejects with `unavailable` and `unreadable`.
   */
  async present({ workspace, source }: Sender, peer: Peer): Promise<Sender | undefined> {
    const found = await this.of(peer);
    if (typeof found === 'string') return undefined;
    return found.workspace.id === workspace.id && found.source.id === source.id ? found : undefined;
  }

  async #bound(workspaces: readonly Workspace[]): Promise<BoundSender[]> {
    const sources = await Promise.all(workspaces.map(({ id }) => this.#sources.of(id)));
    return workspaces.flatMap((workspace, at) =>
      (sources[at] ?? []).flatMap((source) => {
        const { mllp } = source;
        return mllp === undefined ? [] : [{ workspace, source: { ...source, mllp } }];
      }),
    );
  }

  async #unbound(workspaces: readonly Workspace[], { address }: Peer): Promise<Sender | NoSender> {
    if (!isInNetworks(loopback, address)) return 'no_source';
    const active = workspaces.filter(({ state }) => state === 'active');
    const [workspace, another] = active;
    if (workspace === undefined || another !== undefined) return 'several_workspaces';
    return { workspace, source: sourceOf(await this.#sources.of(workspace.id), 'hl7v2') };
  }
}

export interface MllpPorts extends ReceivePorts, BatchPorts {
  logger: Logger;
}

/** How the audit trail and the log name what arrived. */
const mllpRequest = { method: 'MLLP', route: 'message' } as const;

/** How much is looked at of a message that is refused unread. */
const HEADER_BYTES = 4096;

/** The refusal of a message, whatever it says. */
interface Refusal {
  code: 'AE' | 'AR';
  why: ErrorCode;
  issue: Pick<Hl7Issue, 'code' | 'text'>;
}

const tooLarge: Refusal = {
  code: 'AE',
  why: 'payload_too_large',
  issue: { code: '104', text: 'A message can have at most 1 MB.' },
};
const oddlyFramed: Refusal = {
  code: 'AE',
  why: 'malformed_body',
  issue: { code: '102', text: 'A message must not contain the framing characters 0B (VT) and 1C (FS).' },
};
const deactivated: Refusal = {
  code: 'AR',
  why: 'workspace_deactivated',
  issue: { code: '207', text: 'The workspace is deactivated, so messages are not accepted.' },
};

/**
 * Returns the messages of a frame, usually one: also those of a batch (BHS) in it, each by itself. Anything that is
 * not a message is returned as one that is refused.
 */
export function messagesIn({ bytes, isTooLarge }: Frame): Buffer[] {
  if (isTooLarge || isOddlyFramed(bytes)) return [bytes];
  try {
    return splitMessages(bytes);
  } catch (error) {
    if (error instanceof ServiceError) return [bytes];
    throw error;
  }
}

/** Where the previous frame was cut off, or one ends within it: no part of it can be trusted. */
function isOddlyFramed(bytes: Buffer): boolean {
  return bytes.includes(0x0b) || bytes.includes(0x1c);
}

/**
 * Resolves with the responses to a sender's message; by then everything that it says is durable. What left no event is
 * in the audit trail. Rejects with `MessageNotAccepted`, and logs why, where the service cannot take it now: the message must
 * then not be acknowledged.
 */
export async function answerMessage(
  ports: MllpPorts,
  sender: Sender,
  clientIp: string,
  frame: Frame,
): Promise<Buffer[]> {
  const startedAt = performance.now();
  const { workspace, source } = sender;
  const caller: Caller = {
    workspace: workspace.id,
    principal: { type: 'source', id: source.id },
    requestId: uuidv7(),
    clientIp,
  };
  const { requestId } = caller;
  const log = (code: string) => {
    const ms = Math.round((performance.now() - startedAt) * 100) / 100;
    ports.logger.info({ code, ms, requestId, source: source.id, workspace: workspace.id }, 'message');
  };
  try {
    const refusal = problemOf(workspace.state, frame);
    const answer = refusal
      ? await refuse(ports, caller, frame, refusal)
      : await receive(ports, caller, sender, frame);
    log(answer.code);
    return answer.acknowledgements;
  } catch (thrown) {
    const error = asServiceError(thrown);
    logFailure(ports.logger, error, { requestId, route: mllpRequest.route }, 'request');
    log(error.code);
    throw new MessageNotAccepted(error.code);
  }
}

interface Answer {
  code: 'AA' | 'AE' | 'AR';
  acknowledgements: Buffer[];
}

async function receive(
  ports: MllpPorts,
  caller: Caller,
  { workspace, source }: Sender,
  { bytes }: Frame,
): Promise<Answer> {
  const { lines: limiter, stopping } = ports.batches;
  const run = { limiter, stopping, authorize: () => undefined };
  const readAs = { ...source, maySendTests: workspace.sandbox === true };
  const received = await receiveMessage(ports, run, readAs, { caller, bytes, type: mediaTypes[0] });
  const tally = new BatchTally(1, hl7Fields);
  tallyMessage(tally, received, 1);
  await recordBatch(ports, { caller, options: {}, ...mllpRequest }, tally);
  return received;
}

async function refuse(
  ports: MllpPorts,
  caller: Caller,
  { bytes }: Frame,
  { code, why, ...refusal }: Refusal,
): Promise<Answer> {
  await recordRefusal(ports, caller, why);
  const header = parseMessage(bytes.subarray(0, HEADER_BYTES));
  const result = { code, issues: [{ severity: 'error', ...refusal.issue } as const], isCommitted: false };
  return { code, acknowledgements: acknowledgements(header, result, newStamp) };
}

function problemOf(state: Sender['workspace']['state'], { bytes, isTooLarge }: Frame): Refusal | undefined {
  if (state !== 'active') return deactivated;
  if (isTooLarge) return tooLarge;
  return isOddlyFramed(bytes) ? oddlyFramed : undefined;
}

/** A refusal that the log does not accept is answered anyway: nothing was written. */
async function recordRefusal(ports: MllpPorts, caller: Caller, code: ErrorCode): Promise<void> {
  const access = {
    action: 'request.refused',
    outcome: 'refused',
    code,
    ...mllpRequest,
    status: statusOf[code],
  } as const;
  try {
    await recordAccess(ports.eventLog, caller, access);
  } catch (error) {
    const { requestId, principal } = caller;
    const fields = { requestId, source: principal.id, error: describeError(error) };
    ports.logger.warn(fields, 'a refused message could not be recorded in the audit trail');
  }
}
