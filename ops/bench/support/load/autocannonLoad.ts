import { setTimeout as sleep } from 'node:timers/promises';
import autocannon from 'autocannon';
import { Answers } from './answers.ts';
import { turnText } from './bodies.ts';
import type { Load, Order } from './measuringProcess.ts';
import { firstTurn, headersOf, type Prepared, prepare, TURN_MARK } from './requests.ts';

const STOP_WITHIN_MS = 50;

/** Returns what a connection sends next: one of the prepared requests, with a number that was never used before. */
function nextRequest(order: Order, requests: Prepared[]): () => autocannon.Request {
  const buffers = requests.map(({ path, body }) => ({
    path,
    body: Buffer.from(body),
    at: body.indexOf(TURN_MARK),
  }));
  let turn = firstTurn();
  let next = 0;
  return () => {
    const index = order.once ? next++ % buffers.length : Math.floor(Math.random() * buffers.length);
    const { path, body, at } = buffers[index] as (typeof buffers)[number];
    if (at === -1) return { path };
    // The builder of requests copies the body, so the same bytes can be overwritten.
    body.write(turnText(turn++), at);
    return { path, body };
  };
}

/** Sends an order with autocannon. Rejects when a request was not answered with 2xx. */
export async function autocannonLoad(order: Order): Promise<Load> {
  const { url, method = 'POST', connections, once } = order;
  const requests = prepare(order);
  const next = nextRequest(order, requests);
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  const options: autocannon.Options = {
    url,
    method,
    headers: headersOf(order),
    connections,
    pipelining: 1,
    timeout: 30,
    sampleInt: STOP_WITHIN_MS,
    ...(once ? { amount: requests.length } : { duration: 86_400 }),
    requests: [{ setupRequest: (request) => ({ ...request, ...next() }) }],
  };
  const answers = new Answers();
  const instance = autocannon(options, (error, { non2xx, errors, timeouts, statusCodeStats }) => {
    if (error) reject(error);
    else if (non2xx + errors > 0) {
      reject(new Error(JSON.stringify({ non2xx, errors, timeouts, statusCodeStats })));
    } else resolve();
  });
  instance.on('response', (_client, _status, _bytes, milliseconds) => answers.add(milliseconds));
  await Promise.race([once ? ended : sleep(order.seconds * 1000), ended]);
  const load = answers.close();
  instance.stop();
  await ended;
  // It continues for a moment, and then leaves the last request of each connection without a response.
  return once ? load : { ...load, sent: answers.count + connections };
}
