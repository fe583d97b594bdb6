/** The scheme of the tests' logs on servers: it says which driver this process loads, of the two that cannot share one. */
export const logScheme = process.env.TEST_LOG_SCHEME === 'kurrentdb' ? 'kurrentdb' : 'esdb';

/** A client of the driver itself, as another application would use it, with what makes its events. */
export async function foreignClient(url: string) {
  if (logScheme === 'esdb') {
    const { EventStoreDBClient, binaryEvent, jsonEvent } = await import('@eventstore/db-client');
    return { client: EventStoreDBClient.connectionString(url), binaryEvent, jsonEvent };
  }
  const { KurrentDBClient, binaryEvent, jsonEvent } = await import('@kurrent/kurrentdb-client');
  return { client: KurrentDBClient.connectionString(url), binaryEvent, jsonEvent };
}
