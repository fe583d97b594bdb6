import { ConfigError } from '../../config.ts';
import { ServiceError } from '../../errors.ts';

/** What came of looking at one thing. */
export interface CheckResult {
  /** What was looked at: `event_log`. */
  check: string;
  /** `warn`: worth seeing to; `fail`: something does not work, or will not. */
  status: 'ok' | 'warn' | 'fail';
  /** Names what was found, for programs; where it is ok, there is none. */
  code?: string;
  /** One line: what was found and, where that is not ok, what to do. It holds no PHI. */
  message: string;
}

export const ok = (check: string, message: string): CheckResult => ({ check, status: 'ok', message });

export const warn = (check: string, code: string, message: string): CheckResult => ({
  check,
  status: 'warn',
  code,
  message,
});

export const failed = (check: string, code: string, message: string): CheckResult => ({
  check,
  status: 'fail',
  code,
  message,
});

/** What `look` finds; that something could not be looked at is a failure itself. */
export async function looked(check: string, look: () => Promise<CheckResult[]>): Promise<CheckResult[]> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof ServiceError) return [failed(check, error.code, error.problem ?? error.message)];
    if (error instanceof ConfigError) return [failed(check, 'bad_setting', error.message)];
    const { code, syscall, path } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    const advice = 'Run this as the user of the service, or give it the files (chown).';
    return [failed(check, 'not_readable', `${path ?? 'A file'} cannot be checked (${code}). ${advice}`)];
  }
}
