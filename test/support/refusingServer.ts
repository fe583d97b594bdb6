import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createSecureServer, createServer, type Http2Server, type OutgoingHttpHeaders } from 'node:http2';
import type { AddressInfo } from 'node:net';

const UNIMPLEMENTED: OutgoingHttpHeaders = { 'content-type': 'application/grpc', 'grpc-status': '12' };
const PERMISSION_DENIED = {
  ...{ 'content-type': 'application/grpc', 'grpc-status': '7' },
  ...{ 'grpc-message': 'Access Denied', exception: 'access-denied' },
};

const STREAM_DELETED = {
  ...{ 'content-type': 'application/grpc', 'grpc-status': '9' },
  ...{ 'grpc-message': 'Deleted', exception: 'stream-deleted', 'stream-name': 'deleted' },
};

/** How a server of EventStoreDB answers who may not come in, who may not read `$all`, and who uses a deleted stream. */
export const refusals = {
  password: { ':status': 401 },
  permission: PERMISSION_DENIED,
  deleted: STREAM_DELETED,
};

interface RefusingServer {
  /** `localhost:PORT`: certificates are for names. */
  host: string;
  close(): Promise<void>;
}

/** A server that answers what a client asks before it starts, and refuses all else. */
export async function refusingServer(refusal: OutgoingHttpHeaders, tls = false): Promise<RefusingServer> {
  const server: Http2Server = tls ? createSecureServer(certificate()) : createServer();
  server.on('stream', (stream, headers) => {
    const asksFeatures = headers[':path']?.includes('ServerFeatures');
    stream.respond(asksFeatures ? UNIMPLEMENTED : refusal, { endStream: true });
  });
  server.on('sessionError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    host: `localhost:${port}`,
    async close() {
      server.close();
    },
  };
}

/** A certificate that no authority vouches for. */
function certificate() {
  const [key, cert] = ['key', 'crt'].map((kind) => readFileSync(`test/fixtures/tls/receiver.${kind}`));
  return { key, cert };
}
