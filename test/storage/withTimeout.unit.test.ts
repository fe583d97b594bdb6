import { once } from 'node:events';
import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import { expect, test, vi } from 'vitest';
import { attempt } from '../../src/storage/engines/eventstoredb/drivers/driver.ts';
import { withTimeout } from '../../src/storage/engines/shared.ts';

/** Holds the loop up. */
const block = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

test('an answer that came while the loop was held up is not late', async () => {
  const thread = new Worker(
    `const server = require('node:net').createServer((socket) => socket.pipe(socket));
     server.listen(0, '127.0.0.1', () => require('node:worker_threads').parentPort.postMessage(server.address().port));`,
    { eval: true },
  );
  try {
    const [port] = await once(thread, 'message');
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write('question');
    const waiting = withTimeout(400, once(socket, 'data'));
    block(1_500);
    expect(String(await waiting)).toBe('question');
    socket.destroy();
  } finally {
    await thread.terminate();
  }
});

test('what does not answer is given up', async () => {
  await expect(withTimeout(40, new Promise(() => undefined))).rejects.toThrow('no answer within 40 ms');
});

test('a call to EventStoreDB that failed after the loop was held up is tried again', async () => {
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  let tries = 0;
  const call = async () => {
    tries += 1;
    if (tries > 1) return 'answer';
    now += 60_000;
    throw new Error('The connection was closed.');
  };
  try {
    expect(await attempt({ patienceMs: 5_000 }, call)).toBe('answer');
  } finally {
    clock.mockRestore();
  }
});

test('a server of EventStoreDB that refuses each call is given up after the time that its URL allows', async () => {
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  let tries = 0;
  const call = async () => {
    tries += 1;
    now += 1_500;
    throw new Error('The connection was closed.');
  };
  try {
    await expect(attempt({ patienceMs: 5_000 }, call)).rejects.toMatchObject({ code: 'unavailable' });
    expect(tries).toBe(4);
  } finally {
    clock.mockRestore();
  }
});
