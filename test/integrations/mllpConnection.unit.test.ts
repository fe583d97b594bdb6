import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { expect, test } from 'vitest';
import { MllpConnection } from '../../src/api/mllp/connection.ts';

const CHUNKS = 200;
const times = { identify: 60_000, idle: 60_000, frame: 60_000 };

test('others have their turn between the pieces of a frame, however fast they come', async () => {
  let left = CHUNKS;
  const fast = new Duplex({
    readableObjectMode: true,
    read() {
      left -= 1;
      // A frame that begins, and that nothing ends.
      this.push(left < 0 ? null : Buffer.from(left === CHUNKS - 1 ? '\x0bMSH|' : '\x1c\x1c'));
    },
    write: (_chunk, _encoding, done) => done(),
  });
  let turns = 0;
  const count = () => {
    turns += 1;
    turning = setImmediate(count);
  };
  let turning = setImmediate(count);
  const connection = new MllpConnection(fast as unknown as Socket, times);
  const end = await connection.serve(async function* () {
    yield Buffer.from('no frame ends');
  });
  clearImmediate(turning);
  fast.destroy();
  expect(end).toBe('closed');
  expect(turns).toBeGreaterThanOrEqual(CHUNKS);
});
