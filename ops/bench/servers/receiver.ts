// A webhook endpoint: /messages accepts them at once, /hang never answers, /arrivals returns what arrived and forgets
// it.
import { createServer, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

/** What has arrived since the last query; times in milliseconds. */
export interface Arrivals {
  firstAt: number;
  lastAt: number;
  /** For each message: from when the log took its event until it arrived. */
  delays: number[];
  /** Messages to /hang. */
  hung: number;
}

const nothing = (): Arrivals => ({ firstAt: 0, lastAt: 0, delays: [], hung: 0 });
let arrivals = nothing();

function take(body: string): void {
  const now = performance.timeOrigin + performance.now();
  if (arrivals.delays.length === 0) arrivals.firstAt = now;
  arrivals.lastAt = now;
  arrivals.delays.push(now - Date.parse(JSON.parse(body).time));
}

function giveArrivals(res: ServerResponse): void {
  res.end(JSON.stringify(arrivals));
  arrivals = nothing();
}

createServer(async (req, res) => {
  if (req.method === 'GET') return giveArrivals(res);
  // A client that hangs up on /hang breaks nothing here.
  const body = await text(req).catch(() => undefined);
  if (req.url === '/hang') arrivals.hung += 1;
  if (req.url !== '/messages' || body === undefined) return;
  take(body);
  res.writeHead(204).end();
}).listen(Number(process.env.PORT), '127.0.0.1');
