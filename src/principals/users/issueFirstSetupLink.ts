import type { UserDirectory } from './UserDirectory.ts';
import { UserLinks } from './UserLinks.ts';

/** While there is no user: the token of a new link that makes the first administrator. Else nothing. */
export async function issueFirstSetupLink(users: UserDirectory): Promise<string | undefined> {
  if (users.all().length > 0) return undefined;
  const actor = { principal: { type: 'operator', id: 'first-start' } } as const;
  return new UserLinks(users, actor).issueSetupLink();
}
