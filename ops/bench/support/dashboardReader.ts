import { UserManager } from '../../../src/modules/auth/userManager.ts';
import { UserDirectory } from '../../../src/modules/auth/users.ts';
import { openEventLog } from '../../../src/server/openStorage.ts';

import type { Stores } from './chartledger.ts';
import { textOf } from './timedReads.ts';

const user = { name: 'bench', password: 'correct horse battery staple' };

/** Creates a user who may read the audit trail, in stores on which no service is running. */
export async function makeUser({ config }: Stores): Promise<void> {
  const eventLog = await openEventLog(config.eventLogUrl);
  const directory = await UserDirectory.open(eventLog);
  const manager = new UserManager(directory, { principal: { type: 'operator', id: 'bench' } });
  await manager.create({ ...user, roles: { '*': 'compliance' } });
  directory.close();
  await eventLog.close();
}

/** Signs the user in; resolves with the cookies of the session. */
export async function signIn(url: string): Promise<string> {
  const form = await fetch(`${url}/dashboard/sign-in`);
  const cookiesOf = ({ headers }: Response) =>
    headers
      .getSetCookie()
      .map((cookie) => cookie.split(';')[0])
      .join('; ');
  const [, token = ''] = /name="csrf_token" value="([^"]+)"/.exec(await form.text()) ?? [];
  const answer = await fetch(`${url}/dashboard/sign-in`, {
    method: 'POST',
    body: new URLSearchParams({ ...user, csrf_token: token }),
    headers: { cookie: cookiesOf(form) },
    redirect: 'manual',
  });
  if (answer.status !== 303) throw new Error(`${answer.status} for the sign-in`);
  return cookiesOf(answer);
}

/** Loads a page of the audit trail. Rejects when it is not one. */
export async function loadAuditPage(url: string, cookie: string): Promise<void> {
  const text = await textOf(url, { headers: { cookie } });
  if (!text.includes('Audit trail')) throw new Error(`no audit trail at ${url}`);
}
