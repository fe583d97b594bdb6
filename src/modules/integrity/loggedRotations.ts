import type { Position } from '../../domain/events/event.ts';
import { asUnreadable } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { keyEvents } from '../keyEvents.ts';
import { type KeyRotation, keyRotationSchema, rotatedKeys } from './keyRotation.ts';
import type { PublicKeys } from './PublicKeys.ts';

/** The name of the signing key in events about keys. */
export const SIGNING_SETTING = 'SIGNING_KEY';

type RotationLog = Pick<EventLog, 'readStream' | 'identity'>;

/** A rotation that both keys signed, and its place in the log: the previous key signs nothing after it. */
interface LoggedRotation {
  rotation: KeyRotation;
  position: Position;
}

/** What the log records about signing keys. */
interface LoggedRotations {
  rotations: LoggedRotation[];
  /** Those after the last key that came into use without its predecessor, because that was lost. */
  last: LoggedRotation[];
  /** A line for each forged one. */
  problems: string[];
}

/** Returns the valid rotations of the signing key, in log order. Rejects as `EventLog` does. */
export async function signingKeyRotations(eventLog: RotationLog): Promise<KeyRotation[]> {
  return (await loggedRotations(eventLog)).rotations.map(({ rotation }) => rotation);
}

/** What is needed to check heads, as recorded in the log. */
export interface KeysOfLog {
  /** Undefined when no key is trusted. */
  publicKeys: PublicKeys | undefined;
  /** By key id: position of the event that ended the key. */
  ends: ReadonlyMap<string, Position>;
  /** What is wrong with the rotations, a line each. */
  problems: string[];
}

/** Returns the trusted keys with the rotations recorded in the log. Rejects with `unavailable`. */
export async function keysOfLog(eventLog: RotationLog, trusted: PublicKeys | undefined): Promise<KeysOfLog> {
  let found: LoggedRotations;
  try {
    found = await loggedRotations(eventLog);
  } catch (error) {
    asUnreadable(error);
    const problem =
      "The events about signing keys cannot be read. To find out why, run: chartledger verify --workspace '*'";
    return { publicKeys: trusted, ends: new Map(), problems: [problem] };
  }
  const { rotations, last, problems } = found;
  const publicKeys = trusted?.with(rotations.map(({ rotation }) => rotation));
  const foreign = last.filter(({ rotation }) => publicKeys?.has(rotation.next_signature.key_id) === false);
  return {
    publicKeys,
    ends: new Map(rotations.map(({ rotation, position }) => [rotation.previous_signature.key_id, position])),
    problems: [
      ...problems,
      ...foreign.map(({ position }) => forged(position, 'it does not lead to the current signing key')),
    ],
  };
}

async function loggedRotations(eventLog: RotationLog): Promise<LoggedRotations> {
  const events = (await keyEvents(eventLog)).filter(({ data }) => data.setting === SIGNING_SETTING);
  const found: LoggedRotations = { rotations: [], last: [], problems: [] };
  if (events.length === 0) return found;
  const log = await eventLog.identity();
  for (const event of events) {
    const before = found.last.at(-1)?.rotation;
    if (event.type === 'KeyAdopted') {
      found.last = [];
      continue;
    }
    const rotation = keyRotationSchema.safeParse(event.data.rotation).data;
    const problem = rotationProblem(rotation, before, log);
    if (rotation === undefined || problem !== undefined) {
      found.problems.push(forged(event.position, problem));
      continue;
    }
    const logged = { rotation, position: event.position };
    found.rotations.push(logged);
    found.last.push(logged);
  }
  return found;
}

/** `before`: the previous rotation, while the key that it introduced was in use. */
function rotationProblem(
  rotation: KeyRotation | undefined,
  before: KeyRotation | undefined,
  log: string,
): string | undefined {
  if (rotation === undefined || rotatedKeys(rotation) === undefined) return 'it was not signed with its keys';
  if (rotation.log !== log) return 'it belongs to another event log';
  const { key_id } = rotation.previous_signature;
  if (before === undefined || before.next_signature.key_id === key_id) return undefined;
  return `the key ${key_id} was not in use`;
}

function forged(position: Position, problem = 'it is not a key rotation'): string {
  return `The rotation of the signing key at position ${position} is not valid: ${problem}.`;
}
