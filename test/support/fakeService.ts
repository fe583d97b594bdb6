import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A record as it came in, with how many requests came before it. */
export interface Received {
  id: string;
  name?: string;
  number: number;
}

type Answer = { status: number; body: unknown; headers?: Record<string, string> } | 'hang up' | 'accept';

/** A stand-in for a service that answers as `answer` says, and keeps what it accepted. */
export async function startFakeService(answer: (received: Received) => Answer) {
  const accepted: string[] = [];
  let number = 0;
  async function handle(req: IncomingMessage, res: ServerResponse) {
    let text = '';
    for await (const chunk of req) text += chunk;
    const { id, name } = JSON.parse(text);
    const chosen = answer({ id, name, number: number++ });
    if (chosen === 'hang up') return req.socket.destroy();
    if (chosen === 'accept') accepted.push(id);
    const { status, body, headers } =
      chosen === 'accept'
        ? { status: 200, body: { success: true, outcome: 'created', warnings: [] } }
        : chosen;
    res.writeHead(status, { 'content-type': 'application/json', ...headers });
    return res.end(JSON.stringify(body));
  }
  const server = createServer(handle);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    accepted,
    requests: () => number,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
