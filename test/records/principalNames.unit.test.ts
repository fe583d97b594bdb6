import { expect, test } from 'vitest';
import { PrincipalNames } from '../../src/modules/records/queries/principalNames.ts';

/** A directory that learns these names when it is refreshed, and counts how often it was. */
function directory(names: Record<string, string>) {
  const known = new Map<string, string>();
  return {
    refreshed: 0,
    nameOf: (id: string) => known.get(id),
    async refresh() {
      this.refreshed += 1;
      for (const [id, name] of Object.entries(names)) known.set(id, name);
    },
  };
}

test('keys and users have the names of their directories, which are asked again for those not known', async () => {
  const keys = directory({ key_1: 'EMR sync' });
  const users = directory({ usr_1: 'ada@clinic.example' });
  const names = new PrincipalNames({ api_key: keys, user: users });
  const key = { type: 'api_key', id: 'key_1' } as const;
  const user = { type: 'user', id: 'usr_1' } as const;
  const unknown = { type: 'user', id: 'usr_2' } as const;
  expect([names.nameOf(key), names.nameOf(user)]).toEqual([undefined, undefined]);

  await names.learn([key, key]);
  expect([keys.refreshed, users.refreshed]).toEqual([1, 0]);
  await names.learn([key, user, unknown]);
  expect([keys.refreshed, users.refreshed]).toEqual([1, 1]);
  expect([key, user, unknown].map((one) => names.nameOf(one))).toEqual([
    'EMR sync',
    'ada@clinic.example',
    undefined,
  ]);
});

test('who has no directory is known by the id', async () => {
  const names = new PrincipalNames({});
  const operator = { type: 'operator', id: 'root' } as const;
  await names.learn([operator]);
  expect(names.nameOf(operator)).toBe('root');
});
