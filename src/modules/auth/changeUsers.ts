import { type Actor, newActorEvent } from '../../domain/events/newEvent.ts';
import { INSTALLATION } from '../../domain/events/streamNames.ts';
import type { UserDirectory } from './UserDirectory.ts';
import type { Users } from './user.ts';
import type { UserChange } from './userEvents.ts';

/**
 * Appends the change that `decide` derives from all users, if no one changed them in the meantime; otherwise decides again.
 * Appends nothing when there is no change. Rejects with what `decide` throws, and with `unavailable`.
 */
export function changeUsers(
  directory: UserDirectory,
  actor: Actor,
  decide: (all: Readonly<Users>) => UserChange | undefined,
): Promise<void> {
  return directory.change((all) => {
    const change = decide(all);
    return change && newActorEvent(actor, INSTALLATION, change.type, { ...change.data });
  });
}
