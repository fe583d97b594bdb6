import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { yieldToEventLoop } from '../../src/api/server/answer.ts';

const READ = 64 * 1024;

test('of a body that has arrived, others wait for one read in each turn', async () => {
  const reads = Array.from({ length: 32 }, () => Buffer.alloc(READ));
  const body = new Readable({ read: () => undefined, highWaterMark: 32 * READ });
  const received: Buffer[] = [];
  const turns: number[] = [];
  body.on('data', (chunk: Buffer) => received.push(chunk));
  yieldToEventLoop(body);
  const ended = new Promise((resolve) => body.on('end', resolve));
  for (const bytes of [...reads, null]) body.push(bytes);
  for (let before = 0; received.length < reads.length; before = received.length) {
    await nextTurn();
    turns.push(received.length - before);
  }
  await ended;
  expect(Math.max(...turns)).toBeLessThanOrEqual(2);
  expect(Buffer.concat(received)).toHaveLength(32 * READ);
});
