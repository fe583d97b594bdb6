import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * What befalls a request: it is refused with a status and asked to come again in a second; it does not arrive; or it arrives, and
 * its answer is lost or breaks off.
 */
export type Fault = 429 | 503 | 'cut before' | 'cut after' | 'cut amid';

/** A way to a service, which may be elsewhere for every request, on which `faultOf` a request, from 0 on, may befall it. */
export async function badRoad(
  to: () => string,
  faultOf: (number: number, request: IncomingMessage) => Fault | undefined = () => undefined,
) {
  const requests: IncomingMessage[] = [];
  const server = createServer((req, res) => {
    const fault = faultOf(requests.length, req);
    requests.push(req);
    if (typeof fault === 'number') {
      const body = {
        error: 'Not now.',
        code: fault === 429 ? 'rate_limited' : 'unavailable',
        requestId: '-',
      };
      const headers = { 'retry-after': '1', 'content-type': 'application/json' };
      return req.resume().on('end', () => res.writeHead(fault, headers).end(JSON.stringify(body)));
    }
    if (fault === 'cut before') return res.destroy();
    const { method, headers } = req;
    const onward = request(new URL(req.url as string, to()), { method, headers }, (answer) => {
      if (fault !== 'cut after') res.writeHead(answer.statusCode as number, answer.headers);
      if (fault === undefined) {
        answer.on('error', () => res.destroy());
        return answer.pipe(res);
      }
      if (fault === 'cut amid') res.write('{');
      return answer.resume().on('end', () => res.destroy());
    });
    onward.on('error', () => res.destroy());
    res.on('close', () => onward.destroy());
    return req.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** All that set out on it. */
    requests,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
