import { onKind, type Permission } from './permissions.ts';

/** By type of resource, the kinds of the records that it is written to. */
const kindsOf = new Map([
  ['Patient', ['patient']],
  ['Coverage', ['patient']],
  ['Organization', ['payer', 'facility']],
  ['Location', ['facility']],
  ['Practitioner', ['provider']],
  ['PractitionerRole', ['provider']],
  ['Encounter', ['encounter']],
  ['DocumentReference', ['document']],
]);

type Access = 'read' | 'write';

/** Returns the permissions of which one is needed for resources of a type; none for a type that becomes no record. */
export function permissionsFor(access: Access, type: string | undefined): Permission[] {
  const kinds = kindsOf.get(type ?? '') ?? [];
  return [...new Set(kinds.flatMap((kind) => onKind(access, kind)))];
}

/** What an access token may do with the resources of a type, or of every type. */
interface Scope {
  /** `*`: every type. */
  type: string;
  access: readonly Access[];
  /** Of SMART App Launch 1: `read`, not `rs`. */
  isV1: boolean;
}

/** The forms of version 1 and 2 of SMART App Launch. */
const shape = /^system\/(?<type>\*|[A-Z][A-Za-z]*)\.(?:(?<v1>read|write|\*)|(?<v2>c?r?u?d?s?))$/;

/**
 * Returns a scope; undefined for one of another form. An upsert needs both create and update, and a search needs both read and
 * search: neither can be limited to one of them.
 */
function parseScope(text: string): Scope | undefined {
  const { type, v1, v2 = '' } = shape.exec(text)?.groups ?? {};
  if (type === undefined) return undefined;
  const reads = v1 === 'read' || v1 === '*' || (v2.includes('r') && v2.includes('s'));
  const writes = v1 === 'write' || v1 === '*' || (v2.includes('c') && v2.includes('u'));
  return {
    type,
    access: [...(reads ? ['read' as const] : []), ...(writes ? ['write' as const] : [])],
    isV1: v1 !== undefined,
  };
}

function textOf({ type, access, isV1 }: Scope): string {
  if (isV1) return `system/${type}.${access.length === 2 ? '*' : access[0]}`;
  const letters = { read: ['r', 's'], write: ['c', 'u'] };
  const chosen = access.flatMap((one) => letters[one]);
  return `system/${type}.${[...'crus'].filter((letter) => chosen.includes(letter)).join('')}`;
}

/**
 * Returns the scopes that a key with these permissions is granted of those requested, which are separated by spaces; none where it
 * has none of them, or they are unknown. A key that may write only some kinds is granted the types that become them in place of `*`.
 */
export function grantScopes(requested: string, granted: readonly Permission[]): string[] {
  const scopes = requested.split(' ').flatMap((text) => {
    const scope = parseScope(text);
    return scope === undefined ? [] : narrowed(scope, granted);
  });
  return [...new Set(scopes.map(textOf))];
}

function narrowed({ type, access, isV1 }: Scope, granted: readonly Permission[]): Scope[] {
  const isWhole = type === '*' && access.every((one) => granted.includes(one));
  const types = type === '*' && !isWhole ? [...kindsOf.keys()] : [type];
  return types.flatMap((one) => {
    const allowed = access.filter(
      (wanted) =>
        granted.includes(wanted) || permissionsFor(wanted, one).some((part) => granted.includes(part)),
    );
    const isKnown = one === '*' || kindsOf.has(one);
    return isKnown && allowed.length > 0 ? [{ type: one, access: allowed, isV1 }] : [];
  });
}

/** What granted scopes leave of the permissions of a key. */
export interface Narrowed {
  permissions: Permission[];
  /** The types of the resources that may be written; undefined: every type. */
  writableTypes: ReadonlySet<string> | undefined;
}

/** Returns what these scopes leave of the permissions of a key. */
export function narrowPermissions(scopes: readonly string[], granted: readonly Permission[]): Narrowed {
  const parsed = scopes.flatMap((text) => parseScope(text) ?? []);
  const left = parsed.flatMap(({ type, access }) =>
    access.flatMap((one) => {
      const isOf = (permission: Permission) => permission === one || permission.startsWith(`${one}:`);
      if (type === '*') return granted.filter(isOf);
      const parts = permissionsFor(one, type).filter((part) => part !== one);
      return granted.includes(one) ? parts : parts.filter((part) => granted.includes(part));
    }),
  );
  const writable = parsed.filter(({ access }) => access.includes('write')).map(({ type }) => type);
  return {
    permissions: [...new Set(left)],
    writableTypes: writable.includes('*') ? undefined : new Set(writable),
  };
}
