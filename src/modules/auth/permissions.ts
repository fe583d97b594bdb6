import { z } from 'zod';
import { catalog } from '../../domain/records/catalog.ts';
import { invalidField } from '../../platform/errors.ts';

/** What a key may be permitted in its whole workspace. */
export const permissions = [
  'write',
  'read',
  'events',
  'events:limited',
  'events:deidentified',
  'webhooks',
  'audit',
  'settings',
] as const;
export type WholePermission = (typeof permissions)[number];

/** Permissions that may be limited to one kind. */
const scopable = ['write', 'read'] as const;
type Scopable = (typeof scopable)[number];

/** The same for a single kind: `write:encounter`. Documents count as a kind of their own. */
type KindPermission = `${Scopable}:${string}`;
export type Permission = WholePermission | KindPermission;

/** What keys may be scoped to: the kinds of records, and documents. */
export const scopeKinds: readonly string[] = [...catalog.map(({ kind }) => kind), 'document'];

export const kindPermissions: readonly KindPermission[] = scopable.flatMap((permission) =>
  scopeKinds.map((kind): KindPermission => `${permission}:${kind}`),
);

export const permissionSchema: z.ZodType<Permission> = z.enum([...permissions, ...kindPermissions]);

/** Returns the permissions of which one is required for one kind: `write`, `write:encounter`. */
export function onKind(permission: Scopable, kind: string): Permission[] {
  return [permission, `${permission}:${kind}`];
}

/**
 * Returns the chosen permissions in their usual order. Throws `validation_failed` when there are none, as such a key would be
 * refused everywhere, and when a permission and a part of it are both chosen, which cannot be intended.
 */
export function arrangePermissions(chosen: readonly Permission[]): Permission[] {
  if (chosen.length === 0) {
    throw invalidField('permissions', 'A key needs at least one permission.');
  }
  const arranged = [...permissions, ...kindPermissions].filter((permission) => chosen.includes(permission));
  for (const whole of scopable) {
    const part = arranged.find((permission) => permission.startsWith(`${whole}:`));
    if (part === undefined || !arranged.includes(whole)) continue;
    throw invalidField(
      'permissions',
      `The permission ${whole} applies to every kind. Choose either ${whole} or ${part}, not both.`,
    );
  }
  return arranged;
}
