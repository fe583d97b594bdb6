import { EventStoreDBClient } from '@eventstore/db-client';
import { LiveTail } from './LiveTail.ts';
import { LogReader } from './LogReader.ts';

/** All that users of one URL share within a thread. */
export interface Connection {
  /**
   * Only appends. The driver keeps the appends of all clients in one table, which it clears when the stream of any
   * of them breaks; were reads on the same client, one that is sent to another node would leave a second stream open.
   */
  appender: EventStoreDBClient;
  reader: LogReader;
  tail: LiveTail;
  users: number;
}

const connections = new Map<string, Connection>();

/** The connection to a URL, shared with its other users. Throws when the URL is not a connection string. */
export function connect(url: string): Connection {
  let connection = connections.get(url);
  if (connection === undefined) {
    const reader = new LogReader(EventStoreDBClient.connectionString(url));
    const appender = EventStoreDBClient.connectionString(url);
    connection = { appender, reader, tail: new LiveTail(reader), users: 0 };
    connections.set(url, connection);
  }
  connection.users += 1;
  return connection;
}

/** Ends one use. Clients are disposed when no connection is in use any more: disposing one fails others' appends. */
export async function disconnect(connection: Connection): Promise<void> {
  connection.users -= 1;
  const all = [...connections.values()];
  if (all.some(({ users }) => users > 0)) return;
  connections.clear();
  await Promise.all(all.flatMap(({ appender, reader }) => [appender.dispose(), reader.client.dispose()]));
}
