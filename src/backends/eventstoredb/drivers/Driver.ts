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
import type { JsonObject } from '../../../events/event.ts';

/** An event to be appended; its id is made where none is given. */
export interface DriverEvent {
  id?: string;
  type: string;
  data: JsonObject;
  metadata?: Uint8Array;
}

/** Where a stream is expected to end: at a revision, or not to be there. */
export type StreamEnd = 'any' | 'no_stream' | bigint;

/** Which events are read: at most `maxCount` at and after a place, or at and before it; of `$all` those before it. */
export interface Read<Place> {
  direction: 'forwards' | 'backwards';
  from: Place;
  maxCount: number;
}

/** A gRPC channel, as far as it is used. */
export interface Channel {
  close(): void;
  /** Calls once when the state is no longer the one that is named. */
  watchConnectivityState(state: number, deadline: number, changed: (error?: Error) => void): void;
}

/**
 * A client of EventStoreDB's driver or of KurrentDB's, as it is used here; the types are those of the first. Their errors
 * tell by their `type` what they are, in the same words.
 */
export interface Driver {
  /** Tells of the channel of every call, before the call is made. */
  watchChannels(opened: (channel: Channel) => void): void;
  /** A channel to a node that has answered. Rejects when there is none; all who ask share the search. */
  connect(): Promise<Channel>;
  /** Rejects with `WrongStreamEnd` when the stream ends elsewhere. */
  append(stream: string, event: DriverEvent, expected: StreamEnd): Promise<AppendResult>;
  /** Asks the leader. */
  readStream(stream: string, read: Read<ReadRevision>): StreamingRead<ResolvedEvent>;
  /** Asks the leader. */
  readAll(read: Read<ReadPosition>): StreamingRead<AllStreamResolvedEvent>;
  subscribeToAll(after: ReadPosition, filter: Filter): AllStreamSubscription;
  /** The nodes of the cluster as `host:port`, those that are away included, as the cluster itself names them. */
  nodes(): Promise<string[]>;
  /** Has the node to which it is connected begin to scavenge, or leaves it to the scavenge that runs. */
  startScavenge(): Promise<void>;
  /** Cancels its streams. */
  dispose(): Promise<void>;
}

/** A stream ends elsewhere than an append expected: at `actual`, undefined when it is not there. */
export class WrongStreamEnd extends Error {
  readonly actual: bigint | undefined;

  constructor(actual: bigint | 'no_stream') {
    super('The stream ends elsewhere.');
    this.actual = actual === 'no_stream' ? undefined : actual;
  }
}
