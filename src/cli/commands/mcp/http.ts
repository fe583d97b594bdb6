import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { LRUCache } from 'lru-cache';
import { looksLikeApiKey } from '../../../modules/auth/apiKeys.ts';
import { ServiceAway } from '../../lib/client.ts';
import { CommandError } from '../../lib/terminal.ts';
import { type McpOptions, mcpServer, ownKey } from './server.ts';

const PATH = '/mcp';
const MOST_SESSIONS = 200;
const IDLE_MS = 3_600_000;
const MOST_BODY_BYTES = 256 * 1024;

interface Session {
  transport: StreamableHTTPServerTransport;
  /** SHA-256 of the key that began it: no other key can go on with it. */
  keyHash: Buffer;
}

/**
 * Returns a server of MCP over Streamable HTTP at `/mcp`, not yet listening. Each request carries an API key of the service, as
 * requests to the service do; a session ends after an hour without a request.
 */
export function mcpHttpServer(options: McpOptions): Server {
  const sessions = new LRUCache<string, Session>({
    ...{ max: MOST_SESSIONS, ttl: IDLE_MS, updateAgeOnGet: true },
    dispose: ({ transport }) => void transport.close(),
  });
  return createServer((req, res) => {
    handle(options, sessions, req, res).catch((error) => {
      if (error instanceof ServiceAway) refuse(res, 503, error.message);
      else if (error instanceof CommandError) refuse(res, 401, error.message);
      else refuse(res, 500, 'The request failed unexpectedly.');
    });
  });
}

async function handle(
  options: McpOptions,
  sessions: LRUCache<string, Session>,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  if (new URL(req.url ?? '', 'http://localhost').pathname !== PATH) {
    return refuse(res, 404, `The MCP server is at ${PATH}.`);
  }
  const key = keyOf(req);
  if (key === undefined || !looksLikeApiKey(key)) {
    return refuse(res, 401, 'Send an API key of the service in x-api-key, or as Authorization: Bearer.');
  }
  const keyHash = createHash('sha256').update(key).digest();
  const id = req.headers['mcp-session-id'];
  if (typeof id === 'string') {
    const session = sessions.get(id);
    if (session === undefined || !timingSafeEqual(session.keyHash, keyHash)) {
      return refuse(res, 404, 'There is no such session. Initialize another one.');
    }
    return session.transport.handleRequest(req, res);
  }
  const server = mcpServer(options, key, await ownKey(options, key));
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    maxRequestBodySize: MOST_BODY_BYTES,
    onsessioninitialized: (id) => void sessions.set(id, { transport, keyHash }),
    onsessionclosed: (id) => void sessions.delete(id),
  });
  await server.connect(transport);
  await transport.handleRequest(req, res);
}

function keyOf({ headers }: IncomingMessage): string | undefined {
  const { 'x-api-key': sent, authorization } = headers;
  if (typeof sent === 'string') return sent.trim();
  return /^Bearer\s+(\S+)$/i.exec(authorization ?? '')?.[1];
}

function refuse(res: ServerResponse, status: number, message: string): void {
  if (res.headersSent) return void res.destroy();
  const headers = {
    'content-type': 'application/json',
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
  };
  res.writeHead(status, headers);
  res.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_000, message } }));
}
