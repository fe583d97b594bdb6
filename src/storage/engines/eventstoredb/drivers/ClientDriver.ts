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
import type { GossipClient } from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import type { OperationsClient } from '@eventstore/db-client/generated/operations_grpc_pb.js';
import type { StartScavengeReq } from '@eventstore/db-client/generated/operations_pb.js';
import type { Empty } from '@eventstore/db-client/generated/shared_pb.js';
import { TIMEOUT_MS } from './attempt.ts';
import type { Channel, Driver, DriverEvent, Read, StreamEnd } from './Driver.ts';

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
export interface Services {
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
