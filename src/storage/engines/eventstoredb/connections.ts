import { Appender } from './Appender.ts';
import { DriverClient } from './DriverClient.ts';
import { Erasures } from './Erasures.ts';
import { LiveTail } from './LiveTail.ts';
import { LogReader } from './LogReader.ts';
import type { OpenDriver } from './loadDriver.ts';
import { StreamEnds } from './StreamEnds.ts';

/** What all users of one URL share within a thread. */
export interface Connection {
  /**
   * For appends only. EventStoreDB's driver keeps the appends of all clients in one table, which it clears when the stream of any
   * of them breaks; if reads used the same client, one that is sent to another node would leave a second stream open.
   */
  appending: DriverClient;
  appender: Appender;
  reader: LogReader;
  erasures: Erasures;
  tail: LiveTail;
  users: number;
}

const connections = new Map<string, Connection>();

/** Returns the connection to a URL, shared with its other users. Throws when the URL is not a connection string. */
export function connect(open: OpenDriver, url: string): Connection {
  let connection = connections.get(url);
  if (connection === undefined) {
    const reader = new LogReader(new DriverClient(open, url));
    const appending = new DriverClient(open, url);
    const erasures = new Erasures(reader);
    const appender = new Appender(appending, new StreamEnds(reader), erasures);
    const tail = new LiveTail(reader, erasures);
    connection = { appending, appender, reader, erasures, tail, users: 0 };
    connections.set(url, connection);
  }
  connection.users += 1;
  return connection;
}

/** Ends one use. Clients are disposed of when no connection is in use any more: disposing of one makes others' appends fail. */
export async function disconnect(connection: Connection): Promise<void> {
  connection.users -= 1;
  const all = [...connections.values()];
  if (all.some(({ users }) => users > 0)) return;
  connections.clear();
  await Promise.all(all.flatMap(({ appending, reader }) => [appending.close(), reader.client.close()]));
}
