import { once } from 'node:events';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { terminal } from '../../server/terminal.ts';

/** Prints one line to standard output. */
export function writeLine(line = ''): void {
  terminal().stdout.write(`${line}\n`);
}

/** Prints texts at the reader's pace; a reader that stops ends it without an error. */
export async function print(texts: AsyncIterable<string> | string[]): Promise<void> {
  try {
    await pipeline(Readable.from(texts), terminal().stdout, { end: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  }
}

/** Writes text to standard output, at the reader's pace; one that stops is no error. */
export async function writePaced(text: string): Promise<void> {
  try {
    if (!terminal().stdout.write(text)) await once(terminal().stdout, 'drain');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  }
}

/**
 * Lets the work of this process's command go on when nobody reads its output any more; if the output cannot be written for
 * another reason, the command fails.
 */
export function outliveReaders(): void {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE' || process.exitCode === FAILED) return;
    process.stderr.write(`The output cannot be written (${code}).\n`);
    process.exitCode = FAILED;
  });
  process.stderr.on('error', () => undefined);
}

/** Ends the command, which only reads, when the reader of standard output has had enough, such as `head`. */
export function endWithReader(): void {
  terminal().stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 0 : 1));
}

/** The exit code of a command that did its work and found a problem. */
export const FAILED = 1;

/** Prints a problem to standard error; the command fails. */
export function fail(problem: string): void {
  terminal().stderr.write(`${problem}\n`);
  terminal().exitCode = FAILED;
}

/** Formats a number for display. */
export function count(things: number): string {
  return things.toLocaleString('en');
}

/** Formats a number of things for display: `1 event`, `2,000 events`. */
export function counted(things: number, thing: string): string {
  return `${count(things)} ${thing}${things === 1 ? '' : 's'}`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not reach a terminal
const unprintable = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** Returns a text without anything that could control a terminal, cut to a width. */
export function printable(text: string, width = Number.POSITIVE_INFINITY): string {
  const clean = text.replace(
    unprintable,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const characters = [...clean];
  return characters.length <= width ? clean : `${characters.slice(0, width - 1).join('')}…`;
}

/** Returns a line that fits the terminal; all of it if the output is not a terminal. */
export function fittingLine(text: string): string {
  return `${printable(text, terminal().stdout.columns).trimEnd()}\n`;
}

/** Prints one JSON value to standard output, indented. */
export function writeJson(value: unknown): void {
  writeLine(JSON.stringify(value, undefined, 2));
}

/** Prints rows under a header, in aligned columns. */
export function writeTable(header: string[], rows: string[][]): void {
  const lines = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  for (const cells of lines) {
    writeLine(
      cells
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  }
}

/** Returns the end of a command's help. */
export function example(...lines: string[]): string {
  return `\nExample:\n${lines.map((line) => `  $ ${line}`).join('\n')}\n`;
}
