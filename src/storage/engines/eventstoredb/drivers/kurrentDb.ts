import type {
  AllStreamResolvedEvent,
  AppendResult,
  ReadPosition,
  ReadRevision,
  ResolvedEvent,
  StreamingRead,
} from '@eventstore/db-client';
import { jsonEvent, KurrentDBClient, WrongExpectedVersionError } from '@kurrent/kurrentdb-client';
import { ReadStream } from '@kurrent/kurrentdb-client/dist/streams/utils/ReadStream.js';
import { convertGrpcEvent } from '@kurrent/kurrentdb-client/dist/utils/convertGrpcEvent.js';
import gossip from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/gossip_grpc_pb.js';
import operations from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/operations_grpc_pb.js';
import operationsMessages from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/operations_pb.js';
import shared from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/shared_pb.js';
import streams from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_grpc_pb.js';
import messages from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_pb.js';
import {
  ClientDriver,
  type DriverEvent,
  type OpenClient,
  type Read,
  type StreamEnd,
  TIMEOUT_MS,
  WrongStreamEnd,
} from './driver.ts';

const { ReadReq } = messages;
const { Options } = ReadReq;

/** Accesses what the driver keeps for its subclasses. */
class ReadingClient extends KurrentDBClient {
  /**
   * Reads as the driver's subscriptions do. Its own reads use native code on a separate connection, which returns times without
   * milliseconds, cannot be cancelled, and reports a place where no event begins as a server that is unavailable.
   */
  static read(client: KurrentDBClient, options: InstanceType<typeof Options>): StreamingRead<ResolvedEvent> {
    const reading = client as ReadingClient;
    const request = new ReadReq().setOptions(options);
    const call = reading.callArguments({ requiresLeader: true }, { deadline: Number.POSITIVE_INFINITY });
    const open = reading.GRPCStreamCreator(streams.StreamsClient, 'read', (service) =>
      service.read(request, ...call),
    );
    return new ReadStream(open, convertGrpcEvent, {}) as unknown as StreamingRead<ResolvedEvent>;
  }
}

/** KurrentDB's driver. It clashes with EventStoreDB's in the same process. */
export class KurrentDbDriver extends ClientDriver {
  readonly #client: KurrentDBClient;

  /** Throws when the URL is not a connection string. */
  constructor(url: string) {
    const client = KurrentDBClient.connectionString(url);
    super(client as unknown as OpenClient, { ...gossip, ...operations, ...operationsMessages, ...shared });
    this.#client = client;
  }

  async append(stream: string, event: DriverEvent, expected: StreamEnd): Promise<AppendResult> {
    // Under its old name, `expectedRevision`, this option would be silently ignored.
    const options = { streamState: expected, deadline: TIMEOUT_MS };
    try {
      return await this.#client.appendToStream(stream, jsonEvent(event), options);
    } catch (error) {
      throw error instanceof WrongExpectedVersionError ? new WrongStreamEnd(error.actualState) : error;
    }
  }

  readStream(stream: string, read: Read<ReadRevision>): StreamingRead<ResolvedEvent> {
    const place = new Options.StreamOptions();
    place.setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from(stream)));
    if (read.from === 'start') place.setStart(new shared.Empty());
    else if (read.from === 'end') place.setEnd(new shared.Empty());
    else place.setRevision(String(read.from));
    return ReadingClient.read(this.#client, optionsOf(read).setStream(place));
  }

  readAll(read: Read<ReadPosition>): StreamingRead<AllStreamResolvedEvent> {
    const place = new Options.AllOptions();
    if (read.from === 'start') place.setStart(new shared.Empty());
    else if (read.from === 'end') place.setEnd(new shared.Empty());
    else {
      const { commit, prepare } = read.from;
      place.setPosition(
        new Options.Position().setCommitPosition(String(commit)).setPreparePosition(String(prepare)),
      );
    }
    const reading = ReadingClient.read(this.#client, optionsOf(read).setAll(place));
    return reading as StreamingRead<AllStreamResolvedEvent>;
  }
}

function optionsOf({ direction, maxCount }: Read<unknown>): InstanceType<typeof Options> {
  const { FORWARDS, BACKWARDS } = Options.ReadDirection;
  return new Options()
    .setReadDirection(direction === 'forwards' ? FORWARDS : BACKWARDS)
    .setCount(String(maxCount))
    .setUuidOption(new Options.UUIDOption().setString(new shared.Empty()))
    .setNoFilter(new shared.Empty());
}
