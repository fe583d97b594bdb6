import { CommanderError } from 'commander';
import { ConfigError } from '../platform/config.ts';
import { ServiceError } from '../platform/errors.ts';
import { terminal } from '../server/terminal.ts';
import { commandProgram } from './commandProgram.ts';
import { CommandError } from './lib/CommandError.ts';

import { FAILED } from './lib/output.ts';

const WRONG_USAGE = 2;

/** Prints what went wrong, without a stack, and returns the exit code. Commander has already printed its errors. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
  const problem = error instanceof ServiceError ? error.problem : undefined;
  const message = problem ?? (error instanceof Error ? error.message : String(error));
  const expected = [ServiceError, ConfigError, CommandError].some((type) => error instanceof type);
  terminal().stderr.write(expected ? `${message}\n` : `Chartledger failed unexpectedly: ${message}\n`);
  return FAILED;
}

/**
 * Runs a command with the arguments after `chartledger`, on the terminal returned by `terminal()`. Never rejects: the result is
 * the terminal's exit code (0; 1 for a failure; 2 for wrong usage), and the reason is on standard error.
 */
export async function runCommand(args: readonly string[]): Promise<void> {
  try {
    // The program's own options take no values.
    const program = await commandProgram(args.find((arg) => !arg.startsWith('-')));
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    terminal().exitCode = report(error);
  }
}
