import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { LogOutput } from '../../src/server/logOutput.ts';
import { temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';

const LINE = `${JSON.stringify({ level: 50, msg: 'x'.repeat(180) })}\n`;
/** What the output may hold, and a pipe of Linux beside it. */
const HELD_BYTES = 1024 * 1024 + 64 * 1024;

const descriptors: number[] = [];
afterEach(() => {
  for (const descriptor of descriptors.splice(0)) closeSync(descriptor);
});

/** Both ends of a pipe that nobody reads until `read` is called, which gives what is in it. */
function pipe(): { writer: number; read(): string } {
  const path = join(temporaryFolder(), 'pipe');
  execFileSync('mkfifo', [path]);
  const [reader, writer] = [constants.O_RDONLY, constants.O_WRONLY].map((flag) =>
    openSync(path, flag | constants.O_NONBLOCK),
  ) as [number, number];
  descriptors.push(reader, writer);
  const buffer = Buffer.alloc(1024 * 1024);
  const read = () => {
    try {
      return buffer.toString('utf8', 0, readSync(reader, buffer));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return '';
      throw error;
    }
  };
  return { writer, read };
}

test('of a burst of error lines that nobody reads a bounded part is held, and the rest is counted', async () => {
  const { writer, read } = pipe();
  const output = new LogOutput(writer);
  const written = 100_000;
  for (let n = 0; n < written; n += 1) output.write(LINE);
  let text = '';
  await eventually(() => {
    text += read();
    const lines = text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
    const lost = lines.reduce((sum, line) => sum + (line.lost ?? 0), 0);
    const kept = lines.filter((line) => line.lost === undefined).length;
    expect(kept + lost).toBe(written);
    expect(kept).toBeGreaterThan(0);
    expect(kept * LINE.length).toBeLessThanOrEqual(HELD_BYTES);
  });
  output.write(LINE);
  await output.close();
  expect(read()).toBe(LINE);
});
