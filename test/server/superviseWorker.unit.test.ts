import { expect, test } from 'vitest';
import { superviseWorker } from '../../src/platform/threads/workers.ts';

function moduleOf(code: string): URL {
  return new URL(`data:text/javascript,${encodeURIComponent(code)}`);
}

test('a thread that fails while it is being stopped is reported as failed, and stopping it succeeds', async () => {
  const ready = Promise.withResolvers<void>();
  const errors: string[] = [];
  const url = moduleOf(`
    import { parentPort } from 'node:worker_threads';
    parentPort.once('message', () => { throw new Error('no file'); });
    parentPort.postMessage('ready');
  `);
  const stop = superviseWorker(url, undefined, {
    onMessage: () => ready.resolve(),
    onError: (error) => errors.push(error.message),
  });
  await ready.promise;
  await stop();
  expect(errors).toEqual(['no file']);
});
