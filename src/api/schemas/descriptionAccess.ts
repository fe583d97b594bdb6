import type { Endpoint } from './endpoint.ts';

/** Returns who may read a description of the interface, and what can go wrong then; `openapiPublic`: everyone may. */
export function descriptionAccess(openapiPublic: boolean): Required<Pick<Endpoint, 'permission' | 'errors'>> {
  return openapiPublic
    ? { permission: 'public', errors: ['InvalidParameter', 'InternalError'] }
    : { permission: 'key', errors: [] };
}
