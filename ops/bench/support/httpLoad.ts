import { setTimeout as sleep } from 'node:timers/promises';
import autocannon from 'autocannon';
import { bodies } from './bodies.ts';
import { carryOutOrders, type Measurement, type Order } from './measuringProcess.ts';
import { Window } from './window.ts';

/** Requests that are made before a measurement and then sent over and over. */
const PREPARED = 10_000;
const STOP_WITHIN_MS = 50;

function prepare({ kind, among, once }: Order): { body: string }[] {
  const count = once ? among : PREPARED;
  return Array.from({ length: count }, (_, index) => ({
    body: bodies[kind](once ? index : Math.floor(Math.random() * among)),
  }));
}

interface Run {
  instance: autocannon.Instance;
  /** Rejects when a request was not answered with 2xx. */
  ended: Promise<void>;
}

/** Starts autocannon; each connection has its own share of the requests. */
function start(order: Order): Run {
  const { url, key, kind, connections, once } = order;
  const requests = prepare(order);
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  let connection = 0;
  const options: autocannon.Options = {
    url: `${url}/integration/${kind}`,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key },
    connections,
    pipelining: 1,
    timeout: 30,
    sampleInt: STOP_WITHIN_MS,
    ...(once ? { amount: requests.length } : { duration: 86_400 }),
    setupClient(client) {
      const own = connection++;
      client.setRequests(requests.filter((_, index) => index % connections === own));
    },
  };
  const instance = autocannon(options, (error, { non2xx, errors, timeouts, statusCodeStats }) => {
    if (error) reject(error);
    else if (non2xx + errors > 0) {
      reject(new Error(JSON.stringify({ non2xx, errors, timeouts, statusCodeStats })));
    } else resolve();
  });
  return { instance, ended };
}

async function measure(order: Order): Promise<Measurement> {
  const window = new Window(order.pid);
  const { instance, ended } = start(order);
  instance.on('response', (_client, _status, _bytes, milliseconds) => window.add(milliseconds));
  if (order.once) {
    window.open();
    await ended;
    return window.close();
  }
  await Promise.race([sleep(order.warmUpSeconds * 1000), ended]);
  window.open();
  await Promise.race([sleep(order.seconds * 1000), ended]);
  const measurement = window.close();
  instance.stop();
  await ended;
  return measurement;
}

carryOutOrders(measure);
