import type { Driver } from './drivers/Driver.ts';

/** Creates a client for a connection string; throws when it is not one. */
export type OpenDriver = (url: string) => Driver;

const drivers: Record<string, () => Promise<OpenDriver>> = {
  async esdb() {
    const { EventStoreDbDriver } = await import('./drivers/EventStoreDbDriver.ts');
    return (url) => new EventStoreDbDriver(url);
  },
  async kurrentdb() {
    const { KurrentDbDriver } = await import('./drivers/KurrentDbDriver.ts');
    return (url) => new KurrentDbDriver(url);
  },
};

let loaded: string | undefined;

/**
 * Returns the driver for an event log's URL, loaded when first needed. A process has only one: their generated code overwrites
 * each other's, so the other one is refused.
 */
export async function loadDriver(url: string): Promise<OpenDriver> {
  const [scheme = ''] = url.trim().split(/[+:]/, 1);
  const load = drivers[scheme];
  if (load === undefined) throw new Error('no scheme of a driver');
  loaded ??= scheme;
  if (scheme !== loaded)
    throw new Error('A process cannot load the drivers of EventStoreDB and KurrentDB both.');
  return load();
}
