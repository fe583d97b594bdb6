import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { ServiceError } from '../../platform/errors.ts';
import { terminal } from '../../server/terminal.ts';

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
