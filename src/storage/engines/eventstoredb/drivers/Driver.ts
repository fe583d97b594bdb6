import type {
  AllStreamResolvedEvent,
  AllStreamSubscription,
  AppendResult,
  Filter,
  ReadPosition,
  ReadRevision,
  ResolvedEvent,
  StreamingRead,
} from '@eventstore/db-client';
import type { JsonObject } from '../../../../domain/events/event.ts';

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
export interface Channel {
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
