import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { createProgress, paceText } from '../../src/cli/commands/import/send.ts';
import { runOn } from '../../src/server/terminal.ts';

test('the pace is told in rows a second and the time that is left', () => {
  expect(paceText(24_000, 10, 72_000)).toBe('2,400/s, 30 s left');
  expect(paceText(1_000, 10, 60_000)).toBe('100/s, 10 min left');
  expect(paceText(1_000, 100, 100_000)).toBe('10/s, 2 h 47 min left');
  expect(paceText(15, 10, 3)).toBe('1.5/s, 2 s left');
  expect(paceText(0, 0, 10)).toBe('');
});

test('on a terminal a bar shows how far the import is, from where it goes on', async () => {
  let shown = '';
  const stderr = Object.assign(
    new Writable({
      write(chunk, _encoding, done) {
        shown += chunk;
        done();
      },
    }),
    { isTTY: true, columns: 120, cursorTo: () => true, moveCursor: () => true, clearLine: () => true },
  );
  const terminal = { env: {}, stdin: process.stdin, stdout: stderr, stderr };
  await runOn(terminal, async () => {
    const progress = createProgress(true);
    progress.start(100, 40);
    progress.advance(10);
    progress.wait('the service limits requests; continuing in 5 s');
    progress.stop();
  });
  expect(shown).toContain('40/100');
  expect(shown).toMatch(/50\/100 [\d,.]+\/s, \d+ s left \(the service limits requests; continuing in 5 s\)/);
});
