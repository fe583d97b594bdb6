import type { Endpoint } from '../../endpoint/endpoint.ts';

/** Who may read a description of the interface, and what goes wrong then; `openapiPublic`: everyone. */
export function descriptionAccess(openapiPublic: boolean): Required<Pick<Endpoint, 'permission' | 'errors'>> {
  return openapiPublic
    ? { permission: 'public', errors: ['InvalidParameter', 'InternalError'] }
    : { permission: 'key', errors: [] };
}
