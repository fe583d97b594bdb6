import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type {
  AllStreamResolvedEvent,
  AllStreamSubscription,
  AppendResult,
  CommandError,
  Filter,
  ReadPosition,
  ReadRevision,
  ResolvedEvent,
  StreamingRead,
} from '@eventstore/db-client';
import type { GossipClient } from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import type { OperationsClient } from '@eventstore/db-client/generated/operations_grpc_pb.js';
import type { StartScavengeReq } from '@eventstore/db-client/generated/operations_pb.js';
import type { Empty } from '@eventstore/db-client/generated/shared_pb.js';
import type { JsonObject } from '../../../../domain/events/event.ts';
import { ServiceError, unavailable } from '../../../../platform/errors.ts';
import { beginTimeout } from '../../shared.ts';

/** Whether a driver reports this kind of error. */
export function isDriverError(
  error: unknown,
  type: `${CommandError['type']}`,
): error is Error & { code?: number } {
  return error instanceof Error && 'type' in error && error.type === type;
}

/** gRPC's status number for a user who is not authenticated. */
const UNAUTHENTICATED = 16;

/**
 * Returns what an operator should do about a server that denies access, or grants too little; undefined when `error` is a
 * different one.
 */
function credentialsProblem(error: unknown): string | undefined {
  if (!isDriverError(error, 'access-denied')) return undefined;
  return error.code === UNAUTHENTICATED
    ? 'The server refuses the user name or the password in EVENT_LOG_URL.'
    : 'The server does not let the user in EVENT_LOG_URL read $all and append to streams: make it a member of $admins, or change the access control lists.';
}

/** How long one call to the server may take. A frozen server would hold it for about 17 seconds, whatever deadline the driver is given. */
export const TIMEOUT_MS = 2_500;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;

/** Whether anyone is still waiting for a call: an `AbortSignal` in its simplest form, as every append uses one. */
export interface Waiting {
  aborted: boolean;
  /** Called when nobody is. */
  cancel: () => void;
}

/**
 * Calls the server, retrying while it refuses or does not answer, and rejects with `unavailable` when that has not succeeded within
 * `patienceMs`. A `ServiceError` is an answer and ends the tries, as does a refusal that repeats do not change: `internal`.
 */
export async function attempt<Result>(
  { patienceMs }: { readonly patienceMs: number },
  call: (waiting: Waiting) => Promise<Result>,
): Promise<Result> {
  let leftMs = patienceMs;
  let cause: unknown = new Error('no answer');
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    const ms = Math.min(TIMEOUT_MS, leftMs);
    const begun = performance.now();
    try {
      return await within(ms, call);
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      const refusal = lastingRefusal(error);
      if (refusal) throw refusal;
      if (error !== expired) cause = error;
      const problem = credentialsProblem(cause);
      // What held this process up counts no longer than a call may take: another try remains.
      leftMs -= Math.min(ms, performance.now() - begun) + pause;
      if (problem !== undefined || leftMs <= 0) throw unavailable('event log', cause, problem);
    }
    await sleep(pause);
  }
}

/** Errors with which a server answers the same call in the same way whenever it is made. */
const lasting = ['invalid-argument', 'stream-deleted', 'unsupported'] as const;

/** Returns the error for a failure that repeats do not change; undefined for any other. */
export function lastingRefusal(error: unknown): ServiceError | undefined {
  if (error instanceof ServiceError) return error.code === 'unavailable' ? undefined : error;
  return lasting.some((type) => isDriverError(error, type)) ? unusable(error) : undefined;
}

/** The error for a server that answers in a way that will not pass; its `problem` is for operators. */
export function unusable(cause: unknown, problem?: string): ServiceError {
  const { type } = (cause ?? {}) as { type?: string };
  return new ServiceError('internal', 'The event log refuses the request for a reason that will not pass.', {
    cause,
    problem: problem ?? `The server of the event log answers ${type}, which repeats do not change.`,
  });
}

const expired = Symbol('expired');

function within<Result>(ms: number, call: (waiting: Waiting) => Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const waiting: Waiting = { aborted: false, cancel: () => undefined };
    const end = beginTimeout(ms, () => {
      waiting.aborted = true;
      waiting.cancel();
      reject(expired);
    });
    call(waiting).finally(end).then(resolve, reject);
  });
}

/** gRPC's call arguments: metadata and options. */
// biome-ignore lint/suspicious/noExplicitAny: types of a package that only the drivers depend on
type CallArguments = [any, any];

/** What both drivers' clients have, and what they keep for their subclasses. */
export interface OpenClient {
  getChannel: () => Promise<Channel>;
  readonly capabilities: Promise<unknown>;
  callArguments(options: { deadline?: number; requiresLeader?: boolean }, call?: object): CallArguments;
  execute<Service, Result>(
    service: new (...args: never[]) => Service,
    name: string,
    action: (client: Service) => Promise<Result>,
  ): Promise<Result>;
  subscribeToAll(options: { fromPosition: ReadPosition; filter: Filter }): AllStreamSubscription;
  dispose(): Promise<void>;
}

/** Generated code shipped with a driver, for calls that its client has no method for. */
interface Services {
  GossipClient: typeof GossipClient;
  OperationsClient: typeof OperationsClient;
  StartScavengeReq: typeof StartScavengeReq;
  Empty: typeof Empty;
}

/** What both drivers have in common. */
export abstract class ClientDriver implements Driver {
  readonly #client: OpenClient;
  readonly #services: Services;

  constructor(client: OpenClient, services: Services) {
    this.#client = client;
    this.#services = services;
  }

  abstract append(stream: string, event: DriverEvent, expected: StreamEnd): Promise<AppendResult>;
  abstract readStream(stream: string, read: Read<ReadRevision>): StreamingRead<ResolvedEvent>;
  abstract readAll(read: Read<ReadPosition>): StreamingRead<AllStreamResolvedEvent>;

  watchChannels(opened: (channel: Channel) => void): void {
    const { getChannel } = this.#client;
    this.#client.getChannel = async () => {
      const channel = await getChannel();
      opened(channel);
      return channel;
    };
  }

  async connect(): Promise<Channel> {
    const channel = await this.#client.getChannel();
    await this.#client.capabilities;
    return channel;
  }

  subscribeToAll(after: ReadPosition, filter: Filter): AllStreamSubscription {
    return this.#client.subscribeToAll({ fromPosition: after, filter });
  }

  async nodes(): Promise<string[]> {
    const { GossipClient, Empty } = this.#services;
    const call = this.#client.callArguments({ deadline: TIMEOUT_MS });
    const info = await this.#client.execute(GossipClient, 'gossip', (gossip) =>
      answerOf(gossip.read.bind(gossip, new Empty(), ...call)),
    );
    return info.getMembersList().flatMap((member) => {
      const at = member.getHttpEndPoint();
      return at ? [`${at.getAddress()}:${at.getPort()}`] : [];
    });
  }

  async startScavenge(): Promise<string> {
    const { OperationsClient, StartScavengeReq } = this.#services;
    const options = new StartScavengeReq.Options();
    options.setThreadCount(1);
    const request = new StartScavengeReq().setOptions(options);
    const call = this.#client.callArguments({ deadline: TIMEOUT_MS });
    const answer = await this.#client.execute(OperationsClient, 'startScavenge', (operations) =>
      answerOf(operations.startScavenge.bind(operations, request, ...call)),
    );
    return answer.getScavengeId();
  }

  dispose(): Promise<void> {
    return this.#client.dispose();
  }
}

function answerOf<Answer>(
  call: (done: (error: Error | null, answer: Answer) => void) => unknown,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    call((error, answer) => (error ? reject(error) : resolve(answer)));
  });
}

/** Cancelled streams end within milliseconds. */
const DISPOSE_MS = 1_000;

/**
 * A driver client that can be closed. The drivers offer no way to: they continue calls that nobody waits for, on a new channel if
 * the old one broke, and their streams would keep the thread alive.
 */
export class ClosableClient {
  readonly driver: Driver;
  #channel: Channel | undefined;
  #closed = false;

  constructor(driver: Driver) {
    this.driver = driver;
    driver.watchChannels((channel) => {
      if (this.#closed) channel.close();
      // The driver closes the previous one when it opens another.
      else this.#channel = channel;
    });
  }

  /** Whether it has found a node at least once. */
  get found(): boolean {
    return this.#channel !== undefined;
  }

  /** Returns a channel to a node that has answered. Rejects when there is none, and when the client is closed in the meantime. */
  async connect(): Promise<Channel> {
    const channel = await this.driver.connect();
    if (this.#closed) throw new Error('closed');
    return channel;
  }

  /** Ends its calls; later ones fail. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#channel?.close();
    // A stream being created is only registered for disposal a turn later.
    await nextTurn();
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, DISPOSE_MS);
    await Promise.race([this.driver.dispose(), late.promise]);
    clearTimeout(timer);
  }
}

/** An event to be appended; an id is generated if none is given. */
export interface DriverEvent {
  id?: string;
  type: string;
  data: JsonObject;
  metadata?: Uint8Array;
}

/** The expected end of a stream: a revision, or that it does not exist. */
export type StreamEnd = 'any' | 'no_stream' | bigint;

/** Which events to read: at most `maxCount` at and after a place, or at and before it; for `$all` those before it. */
export interface Read<Place> {
  direction: 'forwards' | 'backwards';
  from: Place;
  maxCount: number;
}

/** The parts of a gRPC channel used here. */
interface Channel {
  close(): void;
  /** Calls `changed` once when the state is no longer the given one. */
  watchConnectivityState(state: number, deadline: number, changed: (error?: Error) => void): void;
}

/**
 * A client of EventStoreDB's driver or of KurrentDB's, as used here; the types are those of the former. Their errors are
 * identified by `type`, with the same names.
 */
export interface Driver {
  /** Reports the channel of every call, before the call is made. */
  watchChannels(opened: (channel: Channel) => void): void;
  /** Returns a channel to a node that has answered. Rejects when there is none; all callers share the search. */
  connect(): Promise<Channel>;
  /** Rejects with `WrongStreamEnd` when the stream ends elsewhere. */
  append(stream: string, event: DriverEvent, expected: StreamEnd): Promise<AppendResult>;
  /** Asks the leader. */
  readStream(stream: string, read: Read<ReadRevision>): StreamingRead<ResolvedEvent>;
  /** Asks the leader. */
  readAll(read: Read<ReadPosition>): StreamingRead<AllStreamResolvedEvent>;
  subscribeToAll(after: ReadPosition, filter: Filter): AllStreamSubscription;
  /** Returns the nodes of the cluster as `host:port`, including unreachable ones, as named by the cluster itself. */
  nodes(): Promise<string[]>;
  /** Starts a scavenge on the connected node, unless one is running; returns the id of the one that is. */
  startScavenge(): Promise<string>;
  /** Cancels its streams. */
  dispose(): Promise<void>;
}

/** A stream ends elsewhere than an append expected: `last` is its last revision, -1 when it does not exist. */
export class WrongStreamEnd extends Error {
  readonly last: number;

  constructor(actual: bigint | 'no_stream') {
    super('The stream ends elsewhere.');
    this.last = actual === 'no_stream' ? -1 : Number(actual);
  }
}
