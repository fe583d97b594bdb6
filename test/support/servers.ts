import { existsSync } from 'node:fs';
import { logScheme } from './logDriver.ts';

/** Where a server for tests is, or why there is none. */
export type ServerAtHand = { url: string; missing?: undefined } | { url?: undefined; missing: string };

/**
 * The server that an environment variable names; else one out of `start`, where Docker answers. A server that is
 * named is taken at its word: when it does not answer, tests fail.
 */
export async function serverAtHand(variable: string, start: () => Promise<string>): Promise<ServerAtHand> {
  const url = process.env[variable];
  if (url) return { url };
  const { getContainerRuntimeClient } = await testcontainers();
  try {
    await getContainerRuntimeClient();
  } catch {
    const missing = `${variable} is not set and Docker does not answer`;
    process.stderr.write(`Skipped: ${missing}.\n`);
    return { missing };
  }
  return { url: await start() };
}

/** Loaded where a container is asked for: that takes longer than many a test. */
const testcontainers = () => import('testcontainers');

const logImages = {
  esdb: { image: 'eventstore/eventstore:23.10.8-bookworm-slim', prefix: 'EVENTSTORE' },
  kurrentdb: { image: 'kurrentplatform/kurrentdb:25.0.1', prefix: 'KURRENTDB' },
};

/** An EventStoreDB server; a KurrentDB server, or what speaks its protocol, for the tests of its driver. */
export async function eventStoreDb(): Promise<ServerAtHand> {
  const variable =
    logScheme === 'kurrentdb' && process.env.TEST_KURRENTDB_URL ? 'TEST_KURRENTDB_URL' : 'TEST_ESDB_URL';
  const server = await serverAtHand(variable, async () => {
    const { GenericContainer, Wait } = await testcontainers();
    const { image, prefix } = logImages[logScheme];
    const container = await new GenericContainer(image)
      .withEnvironment({ [`${prefix}_INSECURE`]: 'true', [`${prefix}_MEM_DB`]: 'true' })
      .withExposedPorts(2113)
      .withWaitStrategy(Wait.forHttp('/health/live', 2113).forStatusCode(204))
      .start();
    return `${logScheme}://${container.getHost()}:${container.getMappedPort(2113)}?tls=false`;
  });
  return server.url === undefined ? server : { url: server.url.replace(/^\w+/, logScheme) };
}

/**
 * The command of the stand-in server that `TEST_ESDB_RESTART` starts (`node server.mjs HOST PORT FILE`), for tests
 * that kill and freeze a server of their own; undefined where there is none.
 */
export function standInCommand(): string[] | undefined {
  const [node, script] = (process.env.TEST_ESDB_RESTART ?? '').split(' ');
  return node && script && existsSync(script) ? [node, script] : undefined;
}

/** The environment of that server: after a start or an election its reads show late what it holds, as those of a new leader do. */
export const standInEnv = { ...process.env, ESDB_LATE_INDEX_MS: '2500' };

/**
 * The command of the MongoDB server that `TEST_MONGODB_RESTART` starts (it ends with HOST PORT FILE); undefined where
 * there is none.
 */
export function mongoDbCommand(): string[] | undefined {
  const command = (process.env.TEST_MONGODB_RESTART ?? '').split(' ').slice(0, -3);
  return command.length > 0 ? command : undefined;
}

/** A MongoDB server. */
export function mongoDb(): Promise<ServerAtHand> {
  return serverAtHand('TEST_MONGODB_URL', async () => {
    const { GenericContainer, Wait } = await testcontainers();
    const container = await new GenericContainer('mongo:7')
      .withExposedPorts(27017)
      .withWaitStrategy(Wait.forLogMessage(/Waiting for connections/))
      .start();
    return `mongodb://${container.getHost()}:${container.getMappedPort(27017)}/`;
  });
}

/** A Google Cloud Storage server; its bucket is `gcsBucket`. */
export function googleCloudStorage(): Promise<ServerAtHand> {
  return serverAtHand('TEST_GCS_URL', async () => {
    const { GenericContainer, Wait } = await testcontainers();
    const container = await new GenericContainer('fsouza/fake-gcs-server:1.52')
      .withCommand(['-scheme', 'http', '-backend', 'memory'])
      .withExposedPorts(4443)
      .withWaitStrategy(Wait.forHttp('/_internal/healthcheck', 4443))
      .start();
    const url = `http://${container.getHost()}:${container.getMappedPort(4443)}`;
    const send = (method: string, path: string, body: unknown) =>
      fetch(url + path, {
        method,
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      });
    // It tells uploaders where to send their bytes, and cannot know where its port is seen from outside.
    await send('PUT', '/_internal/config', { externalUrl: url });
    await send('POST', '/storage/v1/b?project=test', { name: gcsBucket });
    return url;
  });
}

/** The bucket of the Google Cloud Storage server. */
export const gcsBucket = process.env.TEST_GCS_BUCKET ?? 'test';
