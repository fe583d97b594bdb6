import { expect, test } from 'vitest';
import type { Permission } from '../../src/modules/auth/permissions.ts';
import { grantScopes, narrowPermissions } from '../../src/modules/auth/scopes.ts';

test.each<[requested: string, permissions: Permission[], granted: string]>([
  ['system/*.write', ['write'], 'system/*.write'],
  ['system/*.*', ['write', 'read'], 'system/*.*'],
  [
    'system/*.*',
    ['read'],
    'system/Patient.read system/Coverage.read system/Organization.read system/Location.read system/Practitioner.read system/PractitionerRole.read system/Encounter.read system/DocumentReference.read',
  ],
  ['system/*.cruds', ['write', 'read'], 'system/*.crus'],
  ['system/Patient.cruds', ['write'], 'system/Patient.cu'],
  ['system/Patient.rs system/Patient.cu', ['write', 'read'], 'system/Patient.rs system/Patient.cu'],
  ['system/Encounter.write system/Patient.write', ['write:encounter'], 'system/Encounter.write'],
  ['system/*.write', ['write:facility'], 'system/Organization.write system/Location.write'],
  ['system/Patient.c system/Patient.u system/Patient.d system/Patient.r', ['write', 'read'], ''],
  ['system/Observation.write patient/*.write system/Patient.write?_id=1 openid', ['write'], ''],
  ['system/Patient.write  system/Patient.write', ['write'], 'system/Patient.write'],
  ['system/*.write', ['events', 'webhooks'], ''],
  ['', ['write'], ''],
])('of %j, a key with %j is granted %j', (requested, permissions, granted) => {
  expect(grantScopes(requested, permissions).join(' ')).toBe(granted);
});

test.each<[scopes: string, permissions: Permission[], left: Permission[], types: string[] | undefined]>([
  ['system/*.write', ['write', 'read', 'events'], ['write'], undefined],
  ['system/*.*', ['write', 'read:patient'], ['read:patient', 'write'], undefined],
  ['system/Coverage.cu', ['write'], ['write:patient'], ['Coverage']],
  ['system/Organization.write', ['write:payer'], ['write:payer'], ['Organization']],
  ['system/Patient.read', ['read', 'write'], ['read:patient'], []],
])('%s leaves of %j: %j', (scopes, permissions, left, types) => {
  const { permissions: found, writableTypes } = narrowPermissions(scopes.split(' '), permissions);
  expect([found.toSorted(), writableTypes && [...writableTypes]]).toEqual([left, types]);
});
