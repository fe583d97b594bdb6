import { once } from 'node:events';
import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
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
