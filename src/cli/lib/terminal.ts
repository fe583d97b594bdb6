import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '../../platform/errors.ts';
import { terminal } from '../../server/terminal.ts';

/** Ends a command that could not do its work; the message says, in one line, what to do about it. */
export class CommandError extends Error {}

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

/** Prints another table, if it has rows. */
export function writeBelow(header: string[], rows: string[][]): void {
  if (rows.length === 0) return;
  writeLine();
  writeTable(header, rows);
}

/** Returns the text up to the first full stop, semicolon or colon. */
export function firstSentence(text: string): string {
  return text.split(/[.;:](?:\s|$)/)[0] as string;
}

/** Returns the end of a command's help. */
export function example(...lines: string[]): string {
  return `\nExample:\n${lines.map((line) => `  $ ${line}`).join('\n')}\n`;
}

/**
 * Reads a new password: the first line of standard input, or typed twice at the terminal without being shown. Rejects with
 * `validation_failed` when there is no terminal, and when the two differ.
 */
export async function readPassword(fromStdin: boolean): Promise<string> {
  if (fromStdin) return (await text(terminal().stdin)).split(/\r?\n/, 1)[0] as string;
  if (!terminal().stdin.isTTY) {
    throw new ServiceError(
      'validation_failed',
      'There is no terminal to ask for the password. Send it on standard input, with --password-stdin.',
    );
  }
  const password = await ask('Password (12 characters or more): ');
  if ((await ask('The same again: ')) === password) return password;
  throw new ServiceError('validation_failed', 'The two passwords differ.');
}

/** Returns what is typed at the terminal, without showing it. Readline edits the line, but its echo goes nowhere. */
export async function ask(question: string): Promise<string> {
  terminal().stderr.write(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: terminal().stdin, output: nowhere, terminal: true });
  lines.on('SIGINT', () => process.exit(130));
  try {
    return await lines.question('');
  } finally {
    lines.close();
    terminal().stderr.write('\n');
  }
}

/** Returns what is typed at the terminal, which shows it. */
export async function askAloud(question: string): Promise<string> {
  const { stdin: input, stderr: output } = terminal();
  const lines = createInterface({ input, output });
  lines.on('SIGINT', () => process.exit(INTERRUPTED));
  try {
    return await lines.question(question);
  } finally {
    lines.close();
  }
}

/** The exit code of an interrupted command. */
export const INTERRUPTED = 130;

/** Calls `onSignal` on Ctrl-C, or when the command is asked to end; the returned function stops that. */
export function onInterruption(onSignal: () => void): () => void {
  const signals = ['SIGINT', 'SIGTERM'];
  for (const signal of signals) process.on(signal, onSignal);
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
}

/** Runs `work`, which ends at its signal; an interruption is reflected in the exit code. Rejects as `work` does. */
export async function untilInterrupted(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const interruption = new AbortController();
  const end = onInterruption(() => interruption.abort());
  try {
    await work(interruption.signal);
  } catch (error) {
    if (!interruption.signal.aborted) throw error;
  } finally {
    end();
  }
  if (interruption.signal.aborted) terminal().exitCode = INTERRUPTED;
}
