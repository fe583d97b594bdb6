import { expect } from 'vitest';
import { ALL_WORKSPACES, type Role, UserDirectory } from '../../src/modules/auth/users.ts';

import { eventually } from './eventually.ts';
import { makeUser } from './makeUser.ts';
import { phi } from './phi.ts';
import type { TestService } from './service.ts';
import { Visitor } from './visitor.ts';

/** Somebody new, of that role in one workspace or in all, who has signed in to the dashboard of a service; with the user's id. */
export async function signedIn(
  service: TestService,
  role: Role,
  workspace = ALL_WORKSPACES,
): Promise<{ visitor: Visitor; id: string }> {
  const user = { name: phi(`${role}@clinic.example`), password: phi('correct horse battery') };
  const users = await UserDirectory.open(service.eventLog);
  const id = await makeUser(users, { ...user, roles: { [workspace]: role } });
  users.close();
  const visitor = new Visitor(service.url);
  // Where the service is slow to learn of a new user, it refuses the first attempts.
  await eventually(async () => {
    await visitor.signIn(user);
    expect(await visitor.isSignedIn()).toBe(true);
  });
  return { visitor, id };
}
