import { ConfigError } from '../platform/config.ts';
import { describeError } from '../platform/errors.ts';
import { fileProblem } from '../storage/engines/shared.ts';

const DETAILED = ['debug', 'trace'];
/** User and password in a URL. */
const CREDENTIALS = /\/\/[^/@\s]*@/g;

/**
 * Describes in one line why something did not start: what, which path or host, and what to do. Followed by a stack, only at debug
 * level.
 */
export function startFailure(error: unknown, logLevel: string | undefined): string {
  const stack = DETAILED.includes(logLevel ?? '') ? `\n${JSON.stringify(describeError(error))}` : '';
  return reason(error) + stack;
}

function reason(error: unknown): string {
  if (error instanceof ConfigError) return error.message;
  const { message, problem, path } = error as { message?: string; problem?: string; path?: unknown };
  const told = problem ?? (typeof path === 'string' ? fileProblem(path, error) : undefined);
  if (told !== undefined) return told;
  const line = message?.split('\n')[0]?.replace(CREDENTIALS, '//') || 'The reason is unknown';
  return `${line} LOG_LEVEL=debug logs more.`;
}
