import { afterAll } from 'vitest';
import { logScheme } from './logDriver.ts';
import { eventStoreDb, type ServerAtHand, standInCommand } from './servers.ts';
import { StandIn } from './standIn.ts';

/**
 * A log server of the suite's own, where one can be started: what others append, each of its services would have to read, and the stand-in's
 * subscriptions pass over events while others scavenge.
 */
export async function startOwnLog(): Promise<StandIn | undefined> {
  const command = standInCommand();
  if (command === undefined) return undefined;
  const standIn = new StandIn(command);
  await standIn.start();
  afterAll(() => standIn.remove());
  return standIn;
}

/** The server for tests of a driver of the log: the suite's own, unless a KurrentDB server is named for tests of its driver. */
export async function logServer(): Promise<ServerAtHand> {
  const isNamed = logScheme === 'kurrentdb' && process.env.TEST_KURRENTDB_URL;
  const own = isNamed ? undefined : await startOwnLog();
  return own ? { url: own.url } : eventStoreDb();
}
