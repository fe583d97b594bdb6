import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import type { Principal } from '../domain/events/event.ts';
import { ServiceError } from '../platform/errors.ts';
import { type Terminal, terminal } from './terminal.ts';

/** Who runs a command, and why, as stated with it. */
interface Stated {
  name?: string | undefined;
  reason?: string | undefined;
}

const stated = new WeakMap<Terminal, Stated>();

const MAX_NAME = 100;
const MAX_REASON = 1_000;
/** The account that several people may use. */
const SHARED = 'root';

/** Notes who runs the command, and why; what is not given is taken from the environment. Throws `validation_failed`. */
export function stateOperator({ name, reason }: Stated): void {
  const { CHARTLEDGER_AS, CHARTLEDGER_REASON } = terminal().env;
  stated.set(terminal(), {
    name: cleaned('as', name ?? CHARTLEDGER_AS, MAX_NAME),
    reason: cleaned('reason', reason ?? CHARTLEDGER_REASON, MAX_REASON),
  });
}

function cleaned(field: string, text: string | undefined, most: number): string | undefined {
  const said = text?.trim();
  if (said === undefined || said === '') return undefined;
  if (said.length <= most && !/\p{Cc}/u.test(said)) return said;
  const message = `must have 1 to ${most} printable characters`;
  throw new ServiceError('validation_failed', `--${field} ${message}.`, { details: [{ field, message }] });
}

/** Returns the user who runs the command: by the name that was stated or kept, otherwise by that of the account. */
export function operator(): Principal {
  return { type: 'operator', id: stated.get(terminal())?.name ?? keptName() ?? accountName() };
}

/** Why the command is run, if that was stated. */
export function operatorReason(): string | undefined {
  return stated.get(terminal())?.reason;
}

/** Why the command is run, and by whom, for the audit trail of a service; undefined without a reason. */
export function purposeStatement(): string | undefined {
  const reason = operatorReason();
  const { id } = operator();
  return reason && (isNameMissing() ? reason : `${reason} (${id})`);
}

/** Whether nobody knows which person runs the command: it should ask. */
export function isNameMissing(): boolean {
  return operator().id === SHARED;
}

/** Throws `reason_required` unless it was stated which person runs the command, and why. */
export function requireReason(): void {
  if (isNameMissing())
    throw new ServiceError(
      'reason_required',
      `The workspace requires the name of a person: add --as NAME, or set CHARTLEDGER_AS. ${SHARED} is none.`,
    );
  if (operatorReason() === undefined)
    throw new ServiceError(
      'reason_required',
      'The workspace requires a reason: add --reason TEXT, or set CHARTLEDGER_REASON. The audit trail records it.',
    );
}

function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${process.getuid?.()}`;
  }
}

/** The file in the user's configuration folder where a name is kept; undefined without a home. */
function nameFile(): string | undefined {
  const { XDG_CONFIG_HOME, HOME } = terminal().env;
  const folder = XDG_CONFIG_HOME || (HOME && join(HOME, '.config'));
  return folder && join(folder, 'chartledger', 'name');
}

function keptName(): string | undefined {
  try {
    const file = nameFile();
    return file && cleaned('as', readFileSync(file, 'utf8'), MAX_NAME);
  } catch {
    // None is kept, or it is no name.
    return undefined;
  }
}

/** Keeps a name for the next commands of the account; returns the file, or undefined where it could not be written. */
export function keepName(name: string): string | undefined {
  const file = nameFile();
  if (file === undefined) return undefined;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, `${name}\n`, { mode: 0o600 });
    return file;
  } catch {
    return undefined;
  }
}
