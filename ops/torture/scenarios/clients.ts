import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeStores } from '../../bench/support/chartledger.ts';
import { residentMegabytes } from '../../bench/support/processUsage.ts';
import type { Outcome, Scenario, Torture } from '../scenario.ts';
import { send } from '../support/send.ts';
import { TorturedService } from '../support/TorturedService.ts';

const SLOW = 200;
const FLOODS = 200;
const OPENED_AT_ONCE = 200;
const BYTE_EVERY_MS = 500;
const FLOOD_EVERY_MS = 20;
const HEADERS = `x-more: ${'y'.repeat(1_000)}\r\n`.repeat(64);
/** Others must be answered within this time, whatever these clients do. */
const LATE_MS = 5_000;

/** Clients that are slow, that say nothing, or that say too much. */
export const clients: Scenario = {
  name: 'clients',
  description: `Thousands of connections that say nothing, ${SLOW} that send headers and bodies byte by byte, and ${FLOODS} that send headers without end. Other requests are answered, each with 200.`,
  async run(torture: Torture): Promise<Outcome> {
    const idle = torture.short ? 2_000 : 10_000;
    const stores = await makeStores(torture, { RATE_LIMIT_PER_MINUTE: '0' });
    const service = new TorturedService(stores.env);
    const url = await service.start();
    const before = residentMegabytes(service.pid).all;
    const sockets: Socket[] = [];
    for (let n = 0; n < idle; n += 1) {
      sockets.push(open(url));
      if (n % OPENED_AT_ONCE === 0) await sleep(20);
    }
    const head = `POST /integration/payers HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${stores.key.key}\r\ncontent-type: application/json\r\n`;
    const slow = Array.from({ length: SLOW }, (_, n) =>
      dribble(url, n % 2 === 0 ? '' : `${head}content-length: 1000\r\n\r\n`),
    );
    const floods = Array.from({ length: FLOODS }, () => flood(url));
    const taken: number[] = [];
    const failures: string[] = [];
    const until = performance.now() + (torture.short ? 10_000 : 60_000);
    for (let n = 0; performance.now() < until; n += 1) {
      const body = JSON.stringify({ id: `payer-${n}`, name: 'Aetna' });
      const headers = { 'x-api-key': stores.key.key, 'content-type': 'application/json' };
      const answer = await send(url, false, { method: 'POST', path: '/integration/payers', headers, body });
      taken.push(answer.milliseconds);
      if (answer.status !== 200) failures.push(`another client got ${answer.status}`);
    }
    const during = residentMegabytes(service.pid).all;
    for (const socket of [...sockets, ...slow, ...floods]) socket.destroy();
    await service.end();
    const slowest = Math.max(...taken);
    if (slowest > LATE_MS) failures.push(`another client waited for ${Math.round(slowest)} ms`);
    return {
      figures: [
        ['connections that say nothing', idle],
        ['byte by byte', SLOW],
        ['headers without end', FLOODS],
        ['requests of others', taken.length],
        ['the slowest of them, ms', slowest],
        ['memory before and during it, MB', `${Math.round(before)}, ${Math.round(during)}`],
      ],
      failures,
    };
  },
};

function open(url: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  return socket;
}

/** Sends a beginning, and then a byte at a time. */
function dribble(url: string, beginning: string): Socket {
  const socket = open(url);
  socket.write(beginning);
  const timer = setInterval(() => socket.write('a'), BYTE_EVERY_MS);
  socket.on('close', () => clearInterval(timer));
  return socket;
}

/** Sends headers for as long as they are accepted. */
function flood(url: string): Socket {
  const socket = open(url);
  socket.write('GET /healthz HTTP/1.1\r\n');
  const timer = setInterval(() => socket.write(HEADERS), FLOOD_EVERY_MS);
  socket.on('close', () => clearInterval(timer));
  return socket;
}
