import { ServiceError } from '../../platform/errors.ts';
import { passwordProblem } from './passwordProblem.ts';
import { canSignIn, isAdministrator, nameKey, type User, type Users } from './user.ts';

const MAX_NAME_LENGTH = 100;

/** Returns the user; throws `not_found` if undefined. */
export function findUser(user: User | undefined): User {
  if (!user) throw new ServiceError('not_found', 'The user does not exist.');
  return user;
}

/** Throws `validation_failed` for a name that no user may have. */
export function requireGoodName(name: string): void {
  if (name.length === 0 || name.length > MAX_NAME_LENGTH || /\p{Cc}/u.test(name)) {
    throw invalid('name', `The name of a user must have 1 to ${MAX_NAME_LENGTH} characters.`);
  }
}

/** Throws `conflict` for a name that is taken. */
export function requireFreeName(all: Readonly<Users>, name: string): void {
  if (!all.idByName.has(nameKey(name))) return;
  const message = 'A user with that name already exists.';
  throw new ServiceError('conflict', message, { details: [{ field: 'name', message }] });
}

/** Rejects with `validation_failed` for a password that is too easy to guess. */
export async function requireGoodPassword(password: string, name: string): Promise<void> {
  const problem = await passwordProblem(password, name);
  if (problem !== undefined) throw invalid('password', problem);
}

/** Throws `conflict` for a user who signs in through an identity provider. */
export function requirePasswordUser({ origin }: User): void {
  if (origin === 'password') return;
  throw new ServiceError('conflict', 'This user signs in through the identity provider, without a password.');
}

/** Throws `conflict` if nobody could create another administrator once this user left. */
export function keepAnAdministrator(all: Readonly<Users>, leaving: User): void {
  const isActiveAdmin = (user: User) => isAdministrator(user) && canSignIn(user);
  if (!isActiveAdmin(leaving)) return;
  const others = [...all.users.values()].filter((user) => user.id !== leaving.id && isActiveAdmin(user));
  if (others.length === 0) {
    throw new ServiceError(
      'conflict',
      'This is the last active administrator of all workspaces. Create another one first.',
    );
  }
}

/** An error about one field, which a form shows beside it. */
function invalid(field: string, message: string): ServiceError {
  return new ServiceError('validation_failed', message, { details: [{ field, message }] });
}
