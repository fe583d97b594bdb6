import type { UserDirectory } from './UserDirectory.ts';
import { UserLinks } from './UserLinks.ts';

/** While there are no users: returns the token of a new link that creates the first administrator. Otherwise does nothing. */
export async function issueFirstSetupLink(users: UserDirectory): Promise<string | undefined> {
  if (users.all().length > 0) return undefined;
  const actor = { principal: { type: 'operator', id: 'first-start' } } as const;
  return new UserLinks(users, actor).issueSetupLink();
}
