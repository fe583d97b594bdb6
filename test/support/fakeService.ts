import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';

/** A batch as it came in, with how many requests came before it. */
export interface Received {
  lines: { kind: string; record: { id: string; name?: string } }[];
  key: string | undefined;
  number: number;
}

/** What a line is answered with: accepted, or with what its result says. */
type LineAnswer = 'accept' | { status: number; [field: string]: unknown };

type Answer =
  | { status: number; body: unknown; headers?: Record<string, string> }
  | { lines: LineAnswer[]; isCutOff?: boolean }
  | { status: 200; text: string }
  | 'hang up'
  | 'accept';

/** A stand-in for a service that answers batches as `answer` says, and keeps what it accepted. */
export async function startFakeService(answer: (received: Received) => Answer) {
  const accepted: string[] = [];
  const keys = new Set<string | undefined>();
  let number = 0;
  function resultsOf(received: Received, { lines, isCutOff }: { lines: LineAnswer[]; isCutOff?: boolean }) {
    const results = received.lines.map(({ kind, record }, index) => {
      const told = lines[index] ?? 'accept';
      if (told !== 'accept') return { line: index + 1, kind, id: record.id, ...told };
      accepted.push(record.id);
      return {
        line: index + 1,
        kind,
        id: record.id,
        status: 200,
        outcome: 'created',
        version: 1,
        warnings: [],
      };
    });
    const told = isCutOff ? results.slice(0, 1) : [...results, { summary: { lines: results.length } }];
    return told.map((line) => `${JSON.stringify(line)}\n`).join('');
  }
  async function handle(req: IncomingMessage, res: ServerResponse) {
    const text = gunzipSync(await buffer(req)).toString();
    const lines = text.split('\n').slice(0, -1);
    const key = req.headers['idempotency-key'] as string | undefined;
    const received = { lines: lines.map((line) => JSON.parse(line)), key, number: number++ };
    const chosen = answer(received);
    if (chosen === 'hang up') return req.socket.destroy();
    if (chosen === 'accept' || 'lines' in chosen) {
      const isRepeat = keys.has(key);
      keys.add(key);
      res.writeHead(200, {
        'content-type': 'application/x-ndjson',
        ...(isRepeat && { 'idempotent-replayed': 'true' }),
      });
      return res.end(resultsOf(received, chosen === 'accept' ? { lines: [] } : chosen));
    }
    if ('text' in chosen) return res.end(chosen.text);
    const { status, body, headers } = chosen;
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
