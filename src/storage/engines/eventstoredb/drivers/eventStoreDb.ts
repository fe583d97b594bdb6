import {
  type AllStreamResolvedEvent,
  type AppendResult,
  EventStoreDBClient,
  jsonEvent,
  type ReadPosition,
  type ReadRevision,
  type ResolvedEvent,
  type StreamingRead,
  WrongExpectedVersionError,
} from '@eventstore/db-client';
import gossip from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import operations from '@eventstore/db-client/generated/operations_grpc_pb.js';
import operationsMessages from '@eventstore/db-client/generated/operations_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import {
  ClientDriver,
  type DriverEvent,
  type OpenClient,
  type Read,
  type StreamEnd,
  TIMEOUT_MS,
  WrongStreamEnd,
} from './driver.ts';

// The driver hands data to its generated code in base64, which that decodes letter by letter, twice for each append: 24 µs for 1 KB.
const { ProposedMessage } = streams.BatchAppendReq;
ProposedMessage.prototype.getData_asU8 = function data(): Uint8Array {
  return Buffer.from(this.getData_asB64(), 'base64');
};

/** EventStoreDB's own driver. */
export class EventStoreDbDriver extends ClientDriver {
  readonly #client: EventStoreDBClient;

  /** Throws when the URL is not a connection string. */
  constructor(url: string) {
    const client = EventStoreDBClient.connectionString(url);
    super(client as unknown as OpenClient, { ...gossip, ...operations, ...operationsMessages, ...shared });
    this.#client = client;
  }

  async append(stream: string, event: DriverEvent, expected: StreamEnd): Promise<AppendResult> {
    const options = { expectedRevision: expected, deadline: TIMEOUT_MS };
    try {
      return await this.#client.appendToStream(stream, jsonEvent(event), options);
    } catch (error) {
      throw error instanceof WrongExpectedVersionError ? new WrongStreamEnd(error.actualVersion) : error;
    }
  }

  readStream(stream: string, { from, ...options }: Read<ReadRevision>): StreamingRead<ResolvedEvent> {
    return this.#client.readStream(stream, { ...options, fromRevision: from, requiresLeader: true });
  }

  readAll({ from, ...options }: Read<ReadPosition>): StreamingRead<AllStreamResolvedEvent> {
    return this.#client.readAll({ ...options, fromPosition: from, requiresLeader: true });
  }
}
